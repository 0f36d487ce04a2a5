export { closeReasons } from './close-reasons.ts';
export type { Connection } from './connection.ts';
export { socketRoutes } from './routes.ts';
export { type SocketConnection, webSocketOptions } from './socket.ts';
export { createSocketServer } from './socket-server.ts';
export { SseConnection } from './sse.ts';
export { createStreams, type Streams } from './streams.ts';

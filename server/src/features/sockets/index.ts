export { type CloseReason, closeReasons } from './close-reasons.ts';
export type { Connection } from './connection.ts';
export type { SandboxFrames } from './live-routes.ts';
export { socketRoutes } from './routes.ts';
export { type SocketConnection, webSocketOptions } from './socket.ts';
export { createSocketServer } from './socket-server.ts';
export { SseConnection } from './sse.ts';
export { type AppConnection, createStreams, type Streams } from './streams.ts';
export type { Subscriber } from './subscriber.ts';

export { closeReasons } from './close-reasons.ts';
export { socketRoutes } from './routes.ts';
export { type EventSocket, webSocketOptions } from './socket.ts';
export { createSocketHost } from './socket-host.ts';
export { EventStream } from './sse.ts';
export { createStreams, type Streams } from './streams.ts';

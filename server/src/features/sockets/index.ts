export { ends } from './ends.ts';
export type { MemberOptions } from './member.ts';
export { socketRoutes } from './routes.ts';
export { EventSocket, readHello, type SocketHost, webSocketOptions } from './socket.ts';
export { createStreams, type Streams } from './streams.ts';

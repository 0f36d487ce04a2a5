export { connectEvents, StopEvents } from './connect.ts';
export { events } from './iterate.ts';
export type { ConnectOptions, EventConnection, EventsStatus, Reset, SocketLike, StatusDetail } from './types.ts';

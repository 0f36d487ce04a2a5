export { type Client, createClient, type TipList } from './client.ts';
export { type ErrorDetail, NamjaiError } from './error.ts';
export { events } from './iterate.ts';
export type { RequestOptions as ClientOptions } from './request.ts';
export { connectEvents, StopEvents } from './socket.ts';
export type { ConnectOptions, EventConnection, EventsStatus, Reset, SocketLike, StatusDetail } from './socket-types.ts';
export type * from './types.ts';
export {
  type HeadersLike,
  type VerifyWebhookOptions,
  verifyWebhook,
  WebhookError,
  type WebhookErrorCode,
} from './webhook.ts';

export { forgetAnswers } from './delivery/erase-repo.ts';
export { newWebhookSecret, standardFormat, webhookKey } from './delivery/format.ts';
export { type DeliveryStatus, deliveryStatuses } from './delivery/repo.ts';
export {
  type ConnectionKinds,
  type DeliveryFault,
  httpTransport,
  type SandboxDelivery,
  type SentAnswer,
  type Transport,
} from './delivery/transport.ts';
export { type Judge, pause, usualJudge, verdict } from './delivery/verdict.ts';
export {
  ConnectionExists,
  maxConnections,
  type StoredConnection,
  TooManyConnections,
} from './endpoints/connections.ts';
export { maxEndpoints } from './endpoints/limits.ts';
export type { EventDelivery, Receiver } from './endpoints/receivers.ts';
export { webhookRoutes } from './endpoints/routes.ts';
export { type Delivery, maxDescription, readStatus } from './endpoints/schemas.ts';
export {
  createWebhooks,
  type OwnersWebhook,
  TooManyWebhooks,
  UrlRefused,
  WebhookExists,
  type Webhooks,
  webhookChangesTopic,
} from './endpoints/service.ts';
export { writes as grantWrites } from './grant-writes.ts';
export { listenerCloseReasons } from './listener/close-reasons.ts';
export { createListeners } from './listener/listeners.ts';
export { listenRoute } from './listener/routes.ts';
export { createWebhookWorker, type WebhookWorker } from './worker.ts';

export { newWebhookSecret, standardFormat, webhookKey } from './delivery/format.ts';
export { type DeliveryStatus, deliveryStatuses } from './delivery/repo.ts';
export { webhookRoutes } from './endpoints/routes.ts';
export { type Delivery, readStatus } from './endpoints/schemas.ts';
export {
  createWebhooks,
  mostEndpoints,
  type OwnersWebhook,
  TooManyWebhooks,
  UrlRefused,
  WebhookExists,
  type Webhooks,
} from './endpoints/service.ts';
export { writes as grantWrites } from './grant-writes.ts';
export { listenerCloseReasons } from './listener/close-reasons.ts';
export { createListeners } from './listener/listeners.ts';
export { listenRoute } from './listener/routes.ts';
export { createWebhookWorker, type WebhookWorker } from './worker.ts';

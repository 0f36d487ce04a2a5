export { type DeliveryStatus, deliveryStatuses } from './deliveries-repo.ts';
export { webhookRoutes } from './routes.ts';
export { type Delivery, readStatus } from './schemas.ts';
export {
  createWebhooks,
  mostEndpoints,
  type OwnersWebhook,
  TooManyWebhooks,
  UrlRefused,
  type WebhookInput,
  type Webhooks,
} from './service.ts';
export { newWebhookSecret, signedHeaders, webhookKey } from './signature.ts';
export { createWebhookWorker, type WebhookWorker } from './worker.ts';

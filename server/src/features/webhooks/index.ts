export { webhookRoutes } from './routes.ts';
export { createWebhooks, type OwnersWebhook, type Webhooks } from './service.ts';
export { createWebhookWorker, type WebhookWorker } from './worker.ts';

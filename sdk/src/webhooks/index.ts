export {
  createWebhookHandler,
  type WebhookHandler,
  type WebhookHandlerOptions,
  type WebhookHandlers,
} from './handler.ts';
export type { NodeRequest, NodeResponse } from './node.ts';
export type { SeenStore } from './seen.ts';
export {
  type HeadersLike,
  type VerifyWebhookOptions,
  verifyWebhook,
  WebhookError,
  type WebhookErrorCode,
} from './verify.ts';

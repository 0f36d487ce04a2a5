export {
  type HeadersLike,
  type VerifyWebhookOptions,
  verifyWebhook,
  WebhookError,
  type WebhookErrorCode,
} from './verify.ts';

import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';

/** Standard Webhooks 1.0: https://www.standardwebhooks.com */
export const newWebhookSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

export const webhookKey = (secret: string): KeyObject =>
  createSecretKey(Buffer.from(secret.slice('whsec_'.length), 'base64'));

/** The headers of one attempt; with several live keys, a signature by each. */
export function signedHeaders(keys: readonly KeyObject[], eventId: string, at: number, body: string) {
  const timestamp = String(Math.floor(at / 1000));
  const content = `${eventId}.${timestamp}.${body}`;
  return {
    'content-type': 'application/json',
    'user-agent': 'Namjai-Webhooks/1.0',
    'webhook-id': eventId,
    'webhook-timestamp': timestamp,
    'webhook-signature': keys
      .map((key) => `v1,${createHmac('sha256', key).update(content).digest('base64')}`)
      .join(' '),
  };
}

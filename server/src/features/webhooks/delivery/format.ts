/** A format is a pure function from an event to the headers and the body of a request. */
import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';

interface SentEvent {
  readonly event_id: string;
  readonly body: string;
}

interface FormattedEvent {
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** `keys` are all live keys of the endpoint, `at` is the time of the attempt. */
export type Format = (event: SentEvent, keys: readonly KeyObject[], at: number) => FormattedEvent;

export const newWebhookSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

export const webhookKey = (secret: string): KeyObject =>
  createSecretKey(Buffer.from(secret.slice('whsec_'.length), 'base64'));

export const sealContext = (endpointId: string): string => `webhook:${endpointId}`;

/** Standard Webhooks 1.0 (https://www.standardwebhooks.com): the event as stored, with a signature by each key. */
export const standardFormat: Format = ({ event_id, body }, keys, at) => {
  const timestamp = String(Math.floor(at / 1000));
  const content = `${event_id}.${timestamp}.${body}`;
  const signatures = keys.map((key) => `v1,${createHmac('sha256', key).update(content).digest('base64')}`);
  return {
    headers: {
      'content-type': 'application/json',
      'user-agent': 'Namjai-Webhooks/1.0',
      'webhook-id': event_id,
      'webhook-timestamp': timestamp,
      'webhook-signature': signatures.join(' '),
    },
    body,
  };
};

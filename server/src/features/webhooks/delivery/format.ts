/** A format is a pure function from an event to the headers and the body of a request. */
import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';

export interface SentEvent {
  readonly event_id: string;
  readonly body: string;
  /** What screens show of a test alert, where that is not what was sent. */
  readonly screened: string | null;
  /** The trace of the request that caused the event, and the app that sent it. */
  readonly traceparent?: string | null;
  readonly trace_client_id?: string | null;
}

export interface FormattedEvent {
  readonly headers: Record<string, string>;
  readonly body: string;
  /** What of the body is secret. */
  readonly secrets?: readonly string[];
}

/** `at` is the time of the attempt. */
export type Format = (event: SentEvent, at: number) => FormattedEvent;

/** What a format has to know of an endpoint. */
export interface FormatTarget {
  /** All live secrets, opened. */
  readonly secrets: readonly string[];
  /** The user name of the creator to whom a connection belongs. */
  readonly username: string | null;
  /** The app to which a webhook belongs. */
  readonly clientId: string | null;
}

export const newWebhookSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

export const webhookKey = (secret: string): KeyObject =>
  createSecretKey(Buffer.from(secret.slice('whsec_'.length), 'base64'));

export const sealContext = (endpointId: string): string => `webhook:${endpointId}`;

/** Standard Webhooks 1.0 (https://www.standardwebhooks.com): the event as stored, with a signature by each key. */
export function standardFormat(
  { event_id, body }: Pick<SentEvent, 'event_id' | 'body'>,
  keys: readonly KeyObject[],
  at: number,
): FormattedEvent {
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
}

/**
 * The format of apps' webhooks. The keys are imported once, because to import a key costs more than to sign with it. An app
 * gets the `traceparent` of its own requests only: in those of others it would learn of the app that sent them.
 */
export function signedFormat({ secrets, clientId }: FormatTarget): Format {
  const keys = secrets.map(webhookKey);
  return (event, at) => {
    const { headers, body } = standardFormat(event, keys, at);
    if (event.traceparent && event.trace_client_id === clientId) headers.traceparent = event.traceparent;
    return { headers, body };
  };
}

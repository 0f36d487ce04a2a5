import type { WebhookEvent } from '../types.ts';

/**
 * Verifies a delivery by Standard Webhooks 1.0. Web Crypto only, so it runs in Node, browsers and edge workers.
 * Verify the body as it came: parsing and printing it again changes its bytes.
 */

export type WebhookErrorCode =
  | 'bad_secret'
  | 'missing_header'
  | 'bad_timestamp'
  | 'timestamp_too_old'
  | 'timestamp_too_new'
  | 'no_matching_signature'
  | 'bad_body'
  /** There are no raw bytes to verify: the body was parsed or read before, or is empty. */
  | 'no_raw_body'
  | 'body_too_large';

export class WebhookError extends Error {
  override readonly name = 'WebhookError';
  readonly code: WebhookErrorCode;
  constructor(code: WebhookErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

/** A `Headers`, Node's `request.headers`, or a list of pairs; names in any case. */
export type HeadersLike = Iterable<readonly [string, string]> | Record<string, string | readonly string[] | undefined>;

export type VerifyWebhookOptions = {
  headers: HeadersLike;
  /** The raw request body. */
  body: string | Uint8Array;
  /** How far the timestamp may lie from now, either way. */
  toleranceSeconds?: number;
  /** Milliseconds, as `Date.now()`. */
  now?: () => number;
} & ({ secret: string; secrets?: never } | { secrets: readonly string[]; secret?: never });

/** The event, if the delivery is genuine and recent; otherwise throws a `WebhookError`. */
export async function verifyWebhook(options: VerifyWebhookOptions): Promise<WebhookEvent> {
  const secrets = decodeSecrets(options.secrets ?? [options.secret]);
  const { id, timestamp, signatures } = readSignature(options);
  const body = bytesOf(options.body);
  const signed = concat(new TextEncoder().encode(`${id}.${timestamp}.`), body);
  let genuine = false;
  for (const secret of secrets) {
    const expected = await hmac(secret, signed);
    for (const signature of signatures) genuine = equal(expected, signature) || genuine;
  }
  if (!genuine) throw new WebhookError('no_matching_signature', 'no signature matches this body and secret');
  return parse(body);
}

export function decodeSecrets(secrets: readonly (string | undefined)[]): Uint8Array<ArrayBuffer>[] {
  if (secrets.length === 0) throw new WebhookError('bad_secret', 'no secret was given');
  return secrets.map(decodeSecret);
}

/** What the headers say, if all are there and the timestamp is recent: nothing else of the request is needed for it. */
export function readSignature(options: Pick<VerifyWebhookOptions, 'headers' | 'toleranceSeconds' | 'now'>) {
  const id = header(options.headers, 'webhook-id');
  const timestamp = header(options.headers, 'webhook-timestamp');
  const signatures = offeredSignatures(header(options.headers, 'webhook-signature'));
  checkTimestamp(timestamp, options.toleranceSeconds ?? 300, (options.now ?? Date.now)());
  return { id, timestamp, signatures };
}

function bytesOf(body: unknown): Uint8Array {
  if (typeof body === 'string') return new TextEncoder().encode(body);
  if (body instanceof Uint8Array) return body;
  throw new WebhookError('no_raw_body', 'body must be the raw body, as text or bytes; parsed JSON cannot be verified');
}

function decodeSecret(secret: string | undefined): Uint8Array<ArrayBuffer> {
  if (!secret)
    throw new WebhookError(
      'bad_secret',
      'the secret is missing: adding a webhook answers it, and namjai listen prints it (whsec_…)',
    );
  const bytes = fromBase64(secret.trim().replace(/^whsec_/, ''));
  if (!bytes || bytes.length === 0) throw new WebhookError('bad_secret', 'a secret is whsec_ followed by base64');
  return bytes;
}

function header(headers: HeadersLike, name: string): string {
  const entries = isIterable(headers) ? headers : Object.entries(headers);
  const values: string[] = [];
  for (const [key, value] of entries) {
    if (key.toLowerCase() === name && value !== undefined)
      values.push(...(typeof value === 'string' ? [value] : value));
  }
  // A repeated signature header is one longer list; a repeated id or timestamp signs nothing and fails below.
  const joined = values.join(' ').trim();
  if (joined === '') throw new WebhookError('missing_header', `the header ${name} is missing`);
  return joined;
}

function isIterable(headers: HeadersLike): headers is Iterable<readonly [string, string]> {
  return Symbol.iterator in headers;
}

function offeredSignatures(value: string): Uint8Array[] {
  // Other versions (v1a is asymmetric) may stand beside v1 and are passed over, as the standard asks.
  return value
    .split(' ')
    .filter((part) => part.startsWith('v1,'))
    .map((part) => fromBase64(part.slice(3)))
    .filter((bytes) => bytes !== undefined);
}

function checkTimestamp(value: string, tolerance: number, now: number): void {
  if (!/^\d{1,15}$/.test(value)) throw new WebhookError('bad_timestamp', 'webhook-timestamp is no Unix time');
  const age = Math.floor(now / 1000) - Number(value);
  if (age > tolerance) throw new WebhookError('timestamp_too_old', `signed ${age} seconds ago`);
  if (age < -tolerance) throw new WebhookError('timestamp_too_new', `signed ${-age} seconds in the future`);
}

async function hmac(secret: Uint8Array<ArrayBuffer>, data: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const key = await crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  return new Uint8Array(await crypto.subtle.sign('HMAC', key, data));
}

/** Constant-time comparison. */
function equal(expected: Uint8Array, offered: Uint8Array): boolean {
  if (expected.length !== offered.length) return false;
  let difference = 0;
  for (const [index, byte] of expected.entries()) difference |= byte ^ (offered[index] ?? 0);
  return difference === 0;
}

function parse(body: Uint8Array): WebhookEvent {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    throw new WebhookError('bad_body', 'the body is genuine, but not JSON');
  }
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function concat(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

import type { FastifyRequest } from 'fastify';
import { networkOf } from '../../platform/addresses.ts';
import { countHeader } from '../../platform/http/headers.ts';
import type { Platform } from '../../platform/platform.ts';
import { hashSecret, sameHash } from '../../platform/secrets.ts';
import { createAppLookup } from './lookup.ts';
import type { AppRow } from './repo.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The app that called, if its secret or its token was verified and there is no `grant`. */
    clientId: string | undefined;
  }
  interface FastifyContextConfig {
    /** The caller is an app: with HTTP Basic, or also with its credentials in the body. */
    clientAuth?: 'basic' | 'basic_or_body';
  }
}

/**
 * Client authentication.
 * - An unknown client and a wrong secret cannot be told apart: both take the same time and get the same answer.
 * - Only failures count against the limit, so the right secret is accepted while somebody else guesses.
 */
export interface Credentials {
  readonly clientId: string;
  /** `undefined` if none was sent: only a public app is accepted then, and with a secret it is not. */
  readonly clientSecret: string | undefined;
}

/** The secret of HTTP Basic can be empty. */
export type BasicCredentials = Credentials & { readonly clientSecret: string };

export type Authentication =
  | { readonly app: AppRow }
  | { readonly refused: 'invalid' | 'suspended' | 'secret_missing' }
  | { readonly refused: 'throttled'; readonly retryAfterSeconds: number };

const failures = { limit: 20, windowMs: 60_000 };
/** Over all clients, so that whoever makes up client ids does not fill the limiter with them. */
const failuresOfAddress = { limit: 600, windowMs: 60_000 };
/** Other texts are not looked up: PostgreSQL refuses a NUL. */
export const clientIdForm = /^app_[0-9a-z]{26}$/;
const unknownApp = { secret_hash: hashSecret('nobody'), old_secret_hash: null, old_secret_until: null };

export function createAuthentication({ db, clock, limiter }: Pick<Platform, 'db' | 'clock' | 'limiter'>) {
  const lookup = createAppLookup(db);
  /** Failures are counted for each client and address of the caller. */
  return async ({ clientId, clientSecret }: Credentials, address: string): Promise<Authentication> => {
    const app = clientIdForm.test(clientId) ? await lookup(clientId) : undefined;
    const known =
      clientSecret === undefined ? app?.public === 1 : isSecretOf(app ?? unknownApp, hashSecret(clientSecret), clock());
    if (app && known) return app.suspended_at === null ? { app } : { refused: 'suspended' };
    if (clientSecret === undefined) return { refused: 'secret_missing' };
    const client = clientIdForm.test(clientId) ? clientId : 'malformed';
    const network = networkOf(address);
    for (const [key, rule] of [
      [`client-auth:${network}`, failuresOfAddress],
      [`client-auth:${client}:${network}`, failures],
    ] as const) {
      const { allowed, resetSeconds } = await limiter.take(key, rule);
      if (!allowed) return { refused: 'throttled', retryAfterSeconds: resetSeconds };
    }
    return { refused: 'invalid' };
  };
}

/** `hash` is of the secret that somebody has shown. */
export function isSecretOf(
  app: Pick<AppRow, 'secret_hash' | 'old_secret_hash' | 'old_secret_until'>,
  hash: string,
  now: number,
): boolean {
  const isCurrent = sameHash(hash, app.secret_hash);
  const isOld = sameHash(hash, app.old_secret_hash ?? unknownApp.secret_hash);
  return isCurrent || (isOld && app.old_secret_hash !== null && now < (app.old_secret_until ?? 0));
}

/**
 * HTTP Basic credentials (RFC 7617). RFC 6749 wants both parts form-encoded, but many clients do not encode them.
 * Decoding changes no character of our ids and secrets, so both forms are read alike.
 */
export function basicCredentials(request: FastifyRequest): BasicCredentials | 'absent' | 'malformed' {
  const header = request.headers.authorization;
  if (header === undefined || !/^basic\b/i.test(header)) return 'absent';
  const [, encoded] = /^basic +([A-Za-z0-9+/_-]+=*) *$/i.exec(header) ?? [];
  if (encoded === undefined || countHeader(request, 'authorization') > 1) return 'malformed';
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const colon = text.indexOf(':');
  if (colon < 1) return 'malformed';
  return { clientId: formDecode(text.slice(0, colon)), clientSecret: formDecode(text.slice(colon + 1)) };
}

function formDecode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

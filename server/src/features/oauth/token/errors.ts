import type { TSchema } from 'typebox';
import { ApiError, type ErrorCode } from '../../../errors.ts';
import type { ErrorWriter } from '../../../platform/http/errors.ts';
import type { HttpError } from '../../../platform/http/http-error.ts';
import { OAuthErrorBody } from './schemas.ts';

/**
 * The errors of /v1/oauth/* (RFC 6749, section 5.2). Each has the code of the common error table for metrics. The log has
 * the name itself.
 */
const table = {
  invalid_request: [400, 'validation_failed', 'A field is missing, empty, sent twice or not a string.'],
  invalid_client: [401, 'client_invalid', 'The client_id or client_secret is wrong, or the app is suspended.'],
  invalid_grant: [
    400,
    'validation_failed',
    'The code or refresh token is unknown, used, expired, revoked, or not for this app or redirect_uri.',
  ],
  unsupported_grant_type: [400, 'validation_failed', 'The grant_type is not one that the server metadata lists.'],
  invalid_scope: [
    400,
    'validation_failed',
    'A scope that does not exist, or more than the creator granted. A refresh token can still be used.',
  ],
  authorization_pending: [400, 'validation_failed', 'The creator has not decided yet. Ask again after the interval.'],
  slow_down: [400, 'validation_failed', 'Asked too soon. From now on wait five seconds longer between requests.'],
  access_denied: [400, 'validation_failed', 'The creator did not approve.'],
  expired_token: [400, 'validation_failed', 'The device_code has expired. Ask for a new one.'],
  too_many_requests: [
    429,
    'rate_limited',
    'Too many failed client authentications, codes for devices, or refreshes. Wait for the seconds in the header Retry-After.',
  ],
  server_error: [500, 'internal_error', 'Something went wrong on our side.'],
  temporarily_unavailable: [502, 'upstream_failed', 'The storage cannot be reached or written right now. Try again.'],
} as const satisfies Record<string, readonly [status: number, code: ErrorCode, words: string]>;

export type OAuthErrorName = keyof typeof table;

export class OAuthError extends ApiError {
  readonly error: OAuthErrorName;
  constructor(error: OAuthErrorName, description: string = table[error][2], headers: Record<string, string> = {}) {
    super(table[error][1], { message: description, headers });
    this.error = error;
  }
}

const writeOAuthError: ErrorWriter = (error, _request, reply) => {
  const name = error instanceof OAuthError ? error.error : nameOf(error);
  reply.errorCode = name;
  return reply
    .code(statusOf(error, name))
    .type('application/json; charset=utf-8')
    .send({ error: name, error_description: describe(error) });
};

function nameOf({ code, status }: HttpError): OAuthErrorName {
  if (code === 'upstream_failed' || code === 'shutting_down') return 'temporarily_unavailable';
  return status >= 500 ? 'server_error' : 'invalid_request';
}

/** A validation error is 400 here. Other errors, such as 405, 413 and 415, have their usual status. */
const statusOf = (error: HttpError, name: OAuthErrorName): number =>
  error.code === 'validation_failed' ? table[name][0] : error.status;

function describe({ message, details }: HttpError): string {
  const text = details
    ? details.map(({ field, message }) => `${field ?? 'the body'} ${message}`).join('; ')
    : message.replaceAll('’', "'").replaceAll('"', "'");
  // RFC 6749 allows only these characters, and the caller chooses the names of fields.
  return text.replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, '?').slice(0, 500);
}

/** Of every route below /v1/oauth. */
export const oauthConfig = { writeError: writeOAuthError, clientAuth: 'basic_or_body' } as const;

/** Response schemas: the errors of every OAuth route, and those of this route. */
export function oauthErrors(...names: OAuthErrorName[]): Record<number, TSchema> {
  const all: OAuthErrorName[] = ['invalid_request', ...names, 'invalid_client', 'too_many_requests'];
  const byStatus = Map.groupBy([...all, 'server_error', 'temporarily_unavailable'] as const, (name) => table[name][0]);
  return {
    ...Object.fromEntries(
      [...byStatus].map(([status, group]) => [status, errorBody(group.map((name) => [name, table[name][2]]))]),
    ),
    413: errorBody([['invalid_request', 'The body is larger than 64 KiB.']]),
    415: errorBody([['invalid_request', 'Send the body as JSON or form-encoded.']]),
  };
}

const errorBody = (cases: (readonly [name: OAuthErrorName, words: string])[]): TSchema => ({
  ...OAuthErrorBody,
  description: cases.map(([name, words]) => `\`${name}\`: ${words}`).join('\n\n'),
  'x-examples': Object.fromEntries(
    cases.map(([error, error_description]) => [error, { value: { error, error_description } }]),
  ),
});

import type { TSchema } from 'typebox';
import { type ErrorCode, errorResponses } from '../../errors.ts';
import type { Scope } from './scopes.ts';

/** What every protected endpoint can answer besides success, and the codes of this one. */
export function protectedErrors(scope: Scope | null, ...more: ErrorCode[]): Record<number, TSchema> {
  return errorResponses(
    'token_missing',
    'token_invalid',
    'token_expired',
    'grant_unusable',
    ...(scope === null ? [] : (['insufficient_scope'] as const)),
    ...more,
    'rate_limited',
    'internal_error',
    'upstream_failed',
  );
}

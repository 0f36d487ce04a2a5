import type { KeyObject } from 'node:crypto';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/database.ts';
import { OAuthError, ReuseError } from './oauth-error.ts';
import { newRefreshToken, refreshKey } from './refresh-tokens.ts';
import { type Refused, rotate } from './rotate.ts';
import type { TokenResponse } from './schemas.ts';
import type { Grants } from './service.ts';
import { toTokenResponse } from './token-response.ts';
import type { Tokens } from './tokens.ts';

/**
 * The refresh_token grant (RFC 6749, section 6), with rotation (RFC 9700, section 4.14).
 * - A token is used once: one conditional update decides who used it, and commits together with its successor.
 * - A token used again ends its family, committed although the answer is an error. Forgiven is only the immediate
 *   predecessor, within the race window and while its successor is unused: two requests that were in flight at once.
 * - What is refused for another reason (scope, suspension, another app) leaves the token as it is.
 * - A grant or family that ends while this runs still wins: whatever is issued here works only while both live.
 */
export interface Refresh {
  readonly refreshToken: string;
  /** Fewer scopes for this one access token; all that are granted if absent. */
  readonly scope: string | undefined;
}

export interface RefreshParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly grants: Grants;
  readonly raceMs: number;
  readonly refreshIdleMs: number;
  readonly tokens: Tokens;
}

const words = {
  unknown: 'The refresh token is unknown.',
  revoked: 'The refresh token has been revoked.',
  expired: 'The refresh token has expired.',
  suspended: 'The creator is suspended.',
  used: 'The refresh token has been used.',
} as const;

export function createRefresh({ db, clock, grants, raceMs, refreshIdleMs, tokens }: RefreshParts) {
  return async (clientId: string, { refreshToken, scope: asked }: Refresh): Promise<TokenResponse> => {
    // A signing key that cannot be had is found out before anything is used up.
    const { unsigned, kid, key: signingKey, expiresIn } = await tokens.draft('access');
    const now = clock();
    const next = newRefreshToken(now);
    const key = refreshKey(refreshToken);
    const rotateWith = (givenKey?: KeyObject) =>
      db.call(rotate, [clientId, key, next.key, asked, now, refreshIdleMs, raceMs, unsigned, kid, givenKey]);
    let outcome = await rotateWith();
    // The first time with this key, where the procedure runs.
    while (outcome === 'key wanted') outcome = await rotateWith(signingKey);
    if ('refused' in outcome) {
      if (outcome.refused === 'used') grants.announce(outcome.creatorId);
      throw toError(outcome);
    }
    const [accessToken, scope] = outcome;
    return toTokenResponse({ accessToken, expiresIn, refreshToken: next.token, scope });
  };
}

function toError(outcome: Refused): OAuthError {
  if (outcome.refused === 'scope') return new OAuthError('invalid_scope');
  if (outcome.refused === 'used') return new ReuseError(outcome.creatorId, words.used);
  return new OAuthError('invalid_grant', words[outcome.refused]);
}

import type { Clock } from '../../platform/clock.ts';
import type { Database, Tx } from '../../platform/db/database.ts';
import type { Issued } from './exchange.ts';
import { OAuthError, ReuseError } from './oauth-error.ts';
import * as repo from './refresh-repo.ts';
import { newRefreshToken, refreshKey } from './refresh-tokens.ts';
import { intersectScopes, parseScopes, type Scope } from './scopes.ts';
import type { Grants } from './service.ts';

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
}

export function createRefresh({ db, clock, grants, raceMs }: RefreshParts) {
  async function attempt(tx: Tx, clientId: string, request: Refresh): Promise<Issued | OAuthError> {
    const hash = refreshKey(request.refreshToken);
    const token = await repo.refreshTokenByHash(tx, hash);
    if (!token || token.client_id !== clientId) return refused('The refresh token is unknown.');
    if (token.grant_ended_at !== null || token.family_ended_at !== null)
      return refused('The refresh token has been revoked.');
    if (token.used_at !== null) return reused(tx, token);
    if (token.expires_at <= clock()) return refused('The refresh token has expired.');
    if (token.creator_suspended_at !== null) return refused('The creator is suspended.');
    const scopes = chooseScopes(token, request.scope);
    if (!scopes) return new OAuthError('invalid_scope');

    const next = newRefreshToken(clock());
    if (!(await repo.useRefreshToken(tx, hash, next.key, clock())))
      return reused(tx, (await repo.refreshTokenByHash(tx, hash)) ?? token);
    await grants.addRefreshToken(tx, next, {
      creatorId: token.creator_id,
      familyId: token.family_id,
      parentHash: hash,
      familyExpiresAt: token.family_expires_at,
    });
    return {
      refreshToken: next.token,
      subject: {
        creatorId: token.creator_id,
        clientId,
        grantId: token.grant_id,
        familyId: token.family_id,
        scopes,
      },
    };
  }

  async function reused(tx: Tx, token: repo.RefreshRow): Promise<OAuthError> {
    const inTime = raceMs > 0 && clock() - (token.used_at ?? 0) <= raceMs;
    if (!inTime || !(await repo.hasUnusedSuccessor(tx, token)))
      await repo.endFamily(tx, token.creator_id, token.family_id, clock());
    return new ReuseError(token.creator_id, 'The refresh token has been used.');
  }

  return async (clientId: string, request: Refresh): Promise<Issued> => {
    const outcome = await db.write((tx) => attempt(tx, clientId, request));
    if (outcome instanceof ReuseError) grants.announce(outcome.creatorId);
    if (outcome instanceof OAuthError) throw outcome;
    return outcome;
  };
}

const refused = (why: string): OAuthError => new OAuthError('invalid_grant', why);

/** What the family was approved for and the grant still has; of that, what was asked for. Nothing if that is more. */
export function chooseScopes(
  { family_scope, grant_scope }: Pick<repo.RefreshRow, 'family_scope' | 'grant_scope'>,
  asked?: string,
): Scope[] | undefined {
  const allowed = intersectScopes(parseScopes(family_scope).scopes, parseScopes(grant_scope).scopes);
  if (asked === undefined) return allowed;
  const { scopes, unknown } = parseScopes(asked);
  return unknown.length === 0 && scopes.every((scope) => allowed.includes(scope)) ? scopes : undefined;
}

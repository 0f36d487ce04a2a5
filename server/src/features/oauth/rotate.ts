import type { KeyObject } from 'node:crypto';
import type { Tx } from '../../platform/db/database.ts';
import { procedure } from '../../platform/db/procedure.ts';
import { insertRefreshToken } from './grants-repo.ts';
import * as repo from './refresh-repo.ts';
import { formatScopes, intersectScopes, parseScopes, type Scope } from './scopes.ts';
import { signToken, type TokenDraft } from './token-draft.ts';

/**
 * What a refresh writes, with everything that decides about it (refresh.ts has the rules), and the token that it gives.
 * The database may run it on a thread of its own, so it takes and gives plain data, and no more of it than its caller
 * needs; as lists, because with objects the names of their fields would cross over each time, which takes longer than
 * what they hold. It signs too: that takes longer than all the rest, and the event loop goes on meanwhile.
 */
export type Rotation = readonly [
  clientId: string,
  /** Under which the token is kept. */
  key: string,
  /** Under which its successor will be kept. */
  nextKey: string,
  /** Fewer scopes for this one access token; all that are granted if absent. */
  asked: string | undefined,
  now: number,
  idleMs: number,
  raceMs: number,
  draft: TokenDraft,
  kid: string,
  /** Handed over when it is wanted and not each time: to copy a key takes longer than all the rest. */
  givenKey: KeyObject | undefined,
];

/** The key that was given last. */
let signing: { readonly kid: string; readonly key: KeyObject } | undefined;

export type Rotated = readonly [accessToken: string, scope: string];

export type Refused =
  | { readonly refused: 'unknown' | 'revoked' | 'expired' | 'suspended' | 'scope' }
  | { readonly refused: 'used'; readonly creatorId: string };

export const rotate = procedure(
  import.meta.url,
  'rotate',
  async (
    tx,
    [clientId, key, nextKey, asked, now, idleMs, raceMs, draft, kid, givenKey]: Rotation,
  ): Promise<Rotated | Refused | 'key wanted'> => {
    if (givenKey) signing = { kid, key: givenKey };
    if (signing?.kid !== kid) return 'key wanted';
    const signingKey = signing.key;
    const token = await repo.refreshTokenByHash(tx, key);
    if (!token || token.client_id !== clientId) return { refused: 'unknown' };
    if (token.grant_ended_at !== null || token.family_ended_at !== null) return { refused: 'revoked' };
    if (token.used_at !== null) return reused(tx, token, now, raceMs);
    if (token.expires_at <= now) return { refused: 'expired' };
    if (token.creator_suspended_at !== null) return { refused: 'suspended' };
    const scopes = chooseScopes(token, asked);
    if (!scopes) return { refused: 'scope' };

    if (!(await repo.useRefreshToken(tx, key, nextKey, now)))
      return reused(tx, (await repo.refreshTokenByHash(tx, key)) ?? token, now, raceMs);
    await insertRefreshToken(tx, {
      hash: nextKey,
      creator_id: token.creator_id,
      family_id: token.family_id,
      parent_hash: key,
      created_at: now,
      expires_at: refreshEnd(now, idleMs, token.family_expires_at),
    });
    const scope = formatScopes(scopes);
    const subject = {
      creatorId: token.creator_id,
      clientId,
      grantId: token.grant_id,
      familyId: token.family_id,
      scope,
    };
    return [signToken(draft, subject, signingKey), scope];
  },
);

async function reused(tx: Tx, token: repo.RefreshRow, now: number, raceMs: number): Promise<Refused> {
  const inTime = raceMs > 0 && now - (token.used_at ?? 0) <= raceMs;
  if (!inTime || !(await repo.hasUnusedSuccessor(tx, token)))
    await repo.endFamily(tx, token.creator_id, token.family_id, now);
  return { refused: 'used', creatorId: token.creator_id };
}

/** The newest refresh token of a family lives while it is used, never longer than its family. */
export const refreshEnd = (now: number, idleMs: number, familyExpiresAt: number): number =>
  Math.min(now + idleMs, familyExpiresAt);

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

import type { Database } from '../../../platform/db/database.ts';
import type { TokenSubject } from '../keys/tokens.ts';
import { type GrantLimitGroup, limitKeysOf } from '../limits.ts';
import { intersectScopes, knownScopes, type Scope } from '../scopes.ts';
import { type AccessRow, accessByFamily } from './access-repo.ts';

/**
 * What a token may do now. Grant, family, app and creator are checked on every request. Where the engine reports that none
 * of their tables has changed (SQLite), the last result is reused; elsewhere each request reads them.
 * See docs/decisions/access-memory.md.
 */
export interface Access {
  readonly grantId: string;
  readonly familyId: string;
  readonly creatorId: string;
  readonly clientId: string;
  readonly appName: string;
  readonly scopes: readonly Scope[];
  /** The account of the developer, if the creator is a sandbox creator. */
  readonly sandboxOf: string | null;
  /** Chaos of the sandbox creator answers as if the grant had ended. */
  readonly paused: boolean;
  /** The keys under which the limiter counts this pair of app and creator. */
  readonly limitKeys: Readonly<Record<GrantLimitGroup, string>>;
  readonly creator: { username: string; displayName: string; avatarId: string | null; createdAt: number };
}

const tables = ['grants', 'families', 'apps', 'creators'] as const;

/** The claims hold the last result, so that both are evicted together. */
type CachingClaims = TokenSubject & { lastAccess?: { readonly version: number; readonly access: Access } };

export type AccessLookup = (claims: CachingClaims) => Access | undefined | Promise<Access | undefined>;

export function createAccessLookup(db: Database): AccessLookup {
  return (claims) => {
    const version = db.version(tables);
    const last = claims.lastAccess;
    if (last && last.version === version) return last.access;
    return accessByFamily(db, claims.creatorId, claims.familyId).then((row) => {
      const access = row && toAccess(row, claims);
      if (access && version !== undefined && db.version(tables) === version) claims.lastAccess = { version, access };
      return access;
    });
  };
}

function toAccess(row: AccessRow, claims: TokenSubject): Access | undefined {
  const endedAt = [
    row.grant_ended_at,
    row.family_ended_at,
    row.app_suspended_at,
    row.app_deleted_at,
    row.creator_suspended_at,
  ];
  if (endedAt.some((at) => at !== null) || row.grant_id !== claims.grantId || row.client_id !== claims.clientId)
    return undefined;
  return {
    grantId: row.grant_id,
    familyId: claims.familyId,
    creatorId: claims.creatorId,
    clientId: row.client_id,
    appName: row.app_name,
    scopes: intersectScopes(claims.scopes, knownScopes(row.grant_scope)),
    sandboxOf: row.sandbox_of,
    paused: row.grant_paused_at !== null,
    limitKeys: limitKeysOf(row.client_id, claims.creatorId),
    creator: {
      username: row.username,
      displayName: row.display_name,
      avatarId: row.avatar_id,
      createdAt: row.creator_created_at,
    },
  };
}

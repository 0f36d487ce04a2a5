import type { Clock } from '../../platform/clock.ts';
import type { Database, Tx } from '../../platform/db/database.ts';
import type { Hub } from '../../platform/hub/hub.ts';
import type { NewId } from '../../platform/ids.ts';
import { hashSecret, newSecret } from '../../platform/secrets.ts';
import * as repo from './grants-repo.ts';
import { formatScopes, parseScopes, type Scope } from './scopes.ts';
import type { Tokens } from './tokens.ts';

export interface GrantsParts {
  readonly db: Database;
  readonly hub: Hub;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly tokens: Tokens;
  readonly refreshIdleMs: number;
  readonly refreshMaxMs: number;
}

export type Grants = ReturnType<typeof createGrants>;
export type EndReason = 'creator' | 'app' | 'operator' | 'app_deleted' | 'account_deleted';

/** The token endpoint's success, and what `grant add` prints. */
export interface TokenResponse {
  access_token: string;
  refresh_token: string;
  token_type: 'Bearer';
  expires_in: number;
  scope: string;
}

/** Hints that grants, apps or creators changed go here; the message is the creator's id, or `*` for many. */
export const accessTopic = 'access';

export class ScopeError extends Error {
  readonly code = 'scope_unknown';
}

export function createGrants({ db, hub, clock, newId, tokens, refreshIdleMs, refreshMaxMs }: GrantsParts) {
  /** A new family under a grant: its first refresh token, and what its access tokens say. */
  async function startFamily(tx: Tx, grantId: string, creatorId: string, scopes: readonly Scope[]) {
    const [now, familyId, refreshToken] = [clock(), newId('fam'), newSecret('njr')];
    const expiresAt = now + refreshMaxMs;
    await repo.insertFamily(tx, {
      creator_id: creatorId,
      id: familyId,
      grant_id: grantId,
      scope: formatScopes(scopes),
      created_at: now,
      expires_at: expiresAt,
    });
    await repo.insertRefreshToken(tx, {
      hash: hashSecret(refreshToken),
      creator_id: creatorId,
      family_id: familyId,
      parent_hash: null,
      created_at: now,
      expires_at: Math.min(now + refreshIdleMs, expiresAt),
    });
    return { familyId, refreshToken };
  }

  /** What the creator agrees to, at once: the live grant of (creator, app), new or with exactly these scopes. */
  function approve(
    tx: Tx,
    approval: { creatorId: string; clientId: string; scopes: readonly Scope[]; byOperator?: boolean },
  ): Promise<string> {
    return repo.approveGrant(tx, {
      creator_id: approval.creatorId,
      id: newId('grt'),
      client_id: approval.clientId,
      scope: formatScopes(approval.scopes),
      by_operator: approval.byOperator ? 1 : 0,
      created_at: clock(),
    });
  }

  return {
    approve,
    startFamily,

    /** Issues a grant without the browser, for tests and own tools; marked so on the creator's page. */
    async addByOperator(creatorId: string, clientId: string, scopeText: string): Promise<TokenResponse> {
      const { scopes, unknown } = parseScopes(scopeText);
      if (unknown.length > 0) throw new ScopeError(`There is no scope "${unknown[0]}".`);
      const scope = formatScopes(scopes);
      const { grantId, familyId, refreshToken } = await db.write(async (tx) => {
        const id = await approve(tx, { creatorId, clientId, scopes, byOperator: true });
        return { grantId: id, ...(await startFamily(tx, id, creatorId, scopes)) };
      });
      const access = await tokens.issue('access', { creatorId, clientId, grantId, familyId, scopes });
      hub.publish(accessTopic, creatorId);
      return {
        access_token: access.token,
        refresh_token: refreshToken,
        token_type: 'Bearer',
        expires_in: access.expiresIn,
        scope,
      };
    },

    /** Ends the grant with all families, unexchanged codes and sockets. Answers whether there was one. */
    async revoke(creatorId: string, clientId: string, reason: EndReason): Promise<boolean> {
      const ended = await db.write((tx) => repo.endGrant(tx, creatorId, clientId, clock(), reason));
      hub.publish(accessTopic, creatorId);
      return ended !== undefined;
    },

    /** Suspends or restores a creator or an app: `change` is its own service's update. */
    async suspend(change: (tx: Tx, at: number | null) => Promise<number>, at: number | null): Promise<boolean> {
      const changed = await db.write((tx) => change(tx, at));
      hub.publish(accessTopic, '*');
      return changed > 0;
    },
  };
}

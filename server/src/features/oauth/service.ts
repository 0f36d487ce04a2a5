import type { Clock } from '../../platform/clock.ts';
import type { Database, Tx } from '../../platform/db/database.ts';
import type { Hub } from '../../platform/hub/hub.ts';
import type { NewId } from '../../platform/ids.ts';
import { appsEver, connectionsOf, isConnected } from './connections-repo.ts';
import * as repo from './grants-repo.ts';
import { newRefreshToken } from './refresh-tokens.ts';
import { refreshEnd } from './rotate.ts';
import type { TokenResponse } from './schemas.ts';
import { formatScopes, parseScopes, type Scope } from './scopes.ts';
import { tokenResponse } from './token-response.ts';
import type { Tokens } from './tokens.ts';

export interface GrantsParts {
  readonly db: Database;
  readonly hub: Hub;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly tokens: Tokens;
  readonly listener: GrantListener;
  readonly refreshIdleMs: number;
  readonly refreshMaxMs: number;
}

/** Told of every change of a grant, inside the transaction that makes it. */
export interface GrantListener {
  approved(tx: Tx, grant: ChangedGrant): Promise<void>;
  ended(tx: Tx, grant: ChangedGrant, reason: EndReason): Promise<void>;
}

export interface ChangedGrant {
  readonly creatorId: string;
  readonly clientId: string;
  readonly grantId: string;
  readonly scope: string;
}

export type Grants = ReturnType<typeof createGrants>;
export type EndReason = 'creator' | 'app' | 'operator' | 'app_deleted' | 'account_deleted';

/** Hints that grants, apps or creators changed go here; the message is the creator's id, or `*` for many. */
export const accessTopic = 'access';

/** Long enough to look into what happened. */
const sweptAfterMs = 30 * 86_400_000;

class ScopeError extends Error {
  readonly code = 'scope_unknown';
}

export function createGrants({ db, hub, clock, newId, tokens, listener, refreshIdleMs, refreshMaxMs }: GrantsParts) {
  /** A new family under a grant: its first refresh token, and what its access tokens say. */
  async function startFamily(
    tx: Tx,
    grantId: string,
    creatorId: string,
    scopes: readonly Scope[],
    familyId = newId('fam'),
  ) {
    const now = clock();
    const expiresAt = now + refreshMaxMs;
    await repo.insertFamily(tx, {
      creator_id: creatorId,
      id: familyId,
      grant_id: grantId,
      scope: formatScopes(scopes),
      created_at: now,
      expires_at: expiresAt,
    });
    const first = newRefreshToken(now);
    await repo.insertRefreshToken(tx, {
      hash: first.key,
      creator_id: creatorId,
      family_id: familyId,
      parent_hash: null,
      created_at: now,
      expires_at: refreshEnd(now, refreshIdleMs, expiresAt),
    });
    return { familyId, refreshToken: first.token };
  }

  /** What the creator agrees to, at once: the live grant of (creator, app), new or with exactly these scopes. */
  async function approve(
    tx: Tx,
    approval: { creatorId: string; clientId: string; scopes: readonly Scope[]; byOperator?: boolean },
  ): Promise<string> {
    const { creatorId, clientId } = approval;
    const scope = formatScopes(approval.scopes);
    const grantId = await repo.approveGrant(tx, {
      creator_id: creatorId,
      id: newId('grt'),
      client_id: clientId,
      scope,
      by_operator: approval.byOperator ? 1 : 0,
      created_at: clock(),
    });
    await listener.approved(tx, { creatorId, clientId, grantId, scope });
    return grantId;
  }

  async function end(
    creatorId: string,
    reason: EndReason,
    update: (tx: Tx) => Promise<repo.EndedGrant | undefined>,
  ): Promise<boolean> {
    const ended = await db.write(async (tx) => {
      const grant = await update(tx);
      if (grant)
        await listener.ended(
          tx,
          { creatorId, clientId: grant.client_id, grantId: grant.id, scope: grant.scope },
          reason,
        );
      return grant !== undefined;
    });
    hub.publish(accessTopic, creatorId);
    return ended;
  }

  return {
    approve,
    startFamily,

    /** Issues a grant without the browser, for tests and own tools; marked so on the creator's page. */
    async addByOperator(creatorId: string, clientId: string, scopeText: string): Promise<TokenResponse> {
      const { scopes, unknown } = parseScopes(scopeText);
      if (unknown.length > 0) throw new ScopeError(`There is no scope "${unknown[0]}".`);
      const { grantId, familyId, refreshToken } = await db.write(async (tx) => {
        const id = await approve(tx, { creatorId, clientId, scopes, byOperator: true });
        return { grantId: id, ...(await startFamily(tx, id, creatorId, scopes)) };
      });
      hub.publish(accessTopic, creatorId);
      return tokenResponse(
        tokens,
        { creatorId, clientId, grantId, familyId, scope: formatScopes(scopes) },
        refreshToken,
      );
    },

    /** Called after a commit that ended a family. A lost hint costs a socket's end up to ten seconds. */
    announce: (creatorId: string) => hub.publish(accessTopic, creatorId),

    isConnected: (creatorId: string, clientId: string) => isConnected(db, creatorId, clientId),

    /** What a creator is connected to. */
    connections: (creatorId: string) => connectionsOf(db, creatorId),
    appsEver: (creatorId: string) => appsEver(db, creatorId),

    /** Deletes an app and ends its grants: `remove` is its own service's update. Answers whether there was one. */
    async deleteApp(clientId: string, remove: (tx: Tx) => Promise<number>): Promise<boolean> {
      const removed = await db.write(async (tx) => {
        if ((await remove(tx)) === 0) return false;
        await repo.endGrantsOfApp(tx, clientId, clock(), 'app_deleted' satisfies EndReason);
        return true;
      });
      if (removed) hub.publish(accessTopic, '*');
      return removed;
    },

    /** Ends the grant with all families, unexchanged codes and sockets. Answers whether there was one. */
    async revoke(creatorId: string, clientId: string, reason: EndReason): Promise<boolean> {
      return end(creatorId, reason, (tx) => repo.endGrant(tx, creatorId, clientId, clock(), reason));
    },

    /** The same for one grant by its id: a token of an older grant ends nothing newer. */
    async revokeById(creatorId: string, grantId: string, reason: EndReason): Promise<boolean> {
      return end(creatorId, reason, (tx) => repo.endGrantById(tx, creatorId, grantId, clock(), reason));
    },

    /** Forgets what hung on grants that ended a while ago; whoever still shows it is refused as for anything unknown. */
    async sweepEnded(): Promise<void> {
      for (;;) {
        const grant = await repo.endedGrant(db, clock() - sweptAfterMs);
        if (!grant) return;
        await db.write((tx) => repo.sweepGrant(tx, grant.creator_id, grant.id));
      }
    },

    /** Suspends or restores a creator or an app: `change` is its own service's update. */
    async suspend(change: (tx: Tx, at: number | null) => Promise<number>, at: number | null): Promise<boolean> {
      const changed = await db.write((tx) => change(tx, at));
      hub.publish(accessTopic, '*');
      return changed > 0;
    },
  };
}

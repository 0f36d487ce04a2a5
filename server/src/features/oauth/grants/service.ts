import type { Platform } from '../../../platform/platform.ts';
import { hashSecret, newSecret } from '../../../platform/secrets.ts';
import type { Accounts } from '../../accounts/index.ts';
import type { Apps } from '../../apps/index.ts';
import type { GrantEndReason } from '../../events/index.ts';
import type { Tokens } from '../keys/tokens.ts';
import { formatScopes, parseScopes, type Scope } from '../scopes.ts';
import { type TokenResponse, toTokenResponse } from '../token/schemas.ts';
import { createForgetting } from './forget.ts';
import { familyPartsOf, type NewFamilyParts, newFamily } from './refresh-tokens.ts';
import * as repo from './repo.ts';

export interface GrantsParts extends Pick<Platform, 'db' | 'hub' | 'clock' | 'newId'>, NewFamilyParts {
  readonly accounts: Pick<Accounts, 'setSuspended'>;
  readonly apps: Pick<Apps, 'byId' | 'setSuspended'>;
  readonly tokens: Tokens;
  readonly writes: repo.GrantWrites;
  readonly accessTokenSeconds: number;
}

export interface CodeRequest {
  readonly clientId: string;
  readonly scopes: readonly Scope[];
  readonly redirectUri: string;
  readonly codeChallenge: string | null;
}

export type Grants = ReturnType<typeof createGrants>;

/** The topic of hints that a grant, an app or a creator has changed. The message is the creator's id, or `*` for many. */
export const accessTopic = 'access';

/** The spec: five minutes after issue. */
const codeLifeMs = 5 * 60_000;

/** Sorts after all ids. */
const afterAllIds = '~';

class ScopeError extends Error {
  readonly code = 'scope_unknown';
}

export function createGrants(parts: GrantsParts) {
  const { db, hub, clock, newId, accounts, apps, tokens, writes } = parts;

  async function approve(approval: Omit<repo.Approval, 'newGrantId'>): Promise<string> {
    const grantId = await db.write(writes.approveGrant, { ...approval, newGrantId: newId('grt') });
    // The grant may have lost scopes, so open connections are rechecked.
    announce(approval.creatorId);
    return grantId;
  }

  async function end(creatorId: string, grant: repo.GrantEnd['grant'], reason: GrantEndReason): Promise<boolean> {
    const ended = { creatorId, grant, reason, now: clock(), newEventId: newId('evt') };
    const found = await db.write(writes.endGrant, ended);
    announce(creatorId);
    return found;
  }

  const announce = (creatorId: string): void => hub.publish(accessTopic, creatorId);

  return {
    /** Grants exactly these scopes. Returns the authorization code. */
    async approve(creatorId: string, request: CodeRequest): Promise<string> {
      const code = newSecret('njc');
      const now = clock();
      const { clientId, scopes, redirectUri, codeChallenge } = request;
      await approve({
        creatorId,
        clientId,
        scope: formatScopes(scopes),
        byOperator: false,
        now,
        issue: { code: { hash: hashSecret(code), redirectUri, codeChallenge, expiresAt: now + codeLifeMs } },
      });
      return code;
    },

    /** Lets a device fetch its tokens. Returns false if somebody has decided before, or its code has expired. */
    async approveDevice(
      creatorId: string,
      device: { hash: string; clientId: string; scope: string },
    ): Promise<boolean> {
      const { hash, clientId, scope } = device;
      const approval = { creatorId, clientId, newGrantId: newId('grt'), scope, byOperator: false, now: clock() };
      const grantId = await db.write(writes.approveDevice, { ...approval, issue: { device: { hash } } }, hash);
      announce(creatorId);
      return grantId !== undefined;
    },

    /** Issues a grant without the consent page, for tests and the operator's tools. The creator's page marks it. */
    async addByOperator(creatorId: string, clientId: string, scopeText: string): Promise<TokenResponse> {
      const { scopes, unknown } = parseScopes(scopeText);
      if (unknown.length > 0) throw new ScopeError(`There is no scope "${unknown[0]}".`);
      const sign = await tokens.signer('access');
      const now = clock();
      const scope = formatScopes(scopes);
      const { family, refreshToken } = newFamily(familyPartsOf(await apps.byId(clientId), parts), now);
      const grantId = await approve({ creatorId, clientId, scope, byOperator: true, now, issue: { family } });
      const subject = { creatorId, clientId, grantId, familyId: family.familyId, scope };
      return toTokenResponse(sign(subject), refreshToken, scope);
    },

    /**
     * An access token of an app for its owner's own account, for first calls. It cannot be refreshed: its family expires
     * with it. Returns nothing if the creator does not own the app, or it is suspended.
     */
    async issueToOwner(creatorId: string, clientId: string, scopes: readonly Scope[]) {
      const sign = await tokens.signer('access');
      const now = clock();
      const scope = formatScopes(scopes);
      const lifeMs = parts.accessTokenSeconds * 1000;
      const { family } = newFamily({ newId, refreshIdleMs: lifeMs, refreshMaxMs: lifeMs }, now);
      const approval = { creatorId, clientId, newGrantId: newId('grt'), scope, byOperator: false, byOwner: true, now };
      const grantId = await db.write(writes.approveOwnGrant, { ...approval, issue: { family } });
      if (grantId === undefined) return undefined;
      announce(creatorId);
      return sign({ creatorId, clientId, grantId, familyId: family.familyId, scope });
    },

    /** To be called after a commit that ended a family. A lost hint delays the close of sockets by up to ten seconds. */
    announce,

    isConnected: (creatorId: string, clientId: string) => repo.isConnected(db, creatorId, clientId),

    connections: (creatorId: string) => repo.connectionsOf(db, creatorId),

    /** Creators who have connected the app, newest first; those before a grant, if its id is given. */
    connectedCreators: (clientId: string, before: string | null, limit: number) =>
      repo.connectedCreators(db, clientId, before ?? afterAllIds, limit),
    appsEver: (creatorId: string) => repo.appsEver(db, creatorId),

    /** Returns whether the owner has such an app. */
    async deleteApp(ownerId: string, clientId: string): Promise<boolean> {
      const deleted = await db.write(repo.writes.deleteAppAndGrants, ownerId, clientId, clock());
      if (deleted) announce('*');
      return deleted;
    },

    /** Ends the live grant with its families, codes and sockets. Returns whether there was one. */
    revoke: (creatorId: string, clientId: string, reason: GrantEndReason) => end(creatorId, { clientId }, reason),

    /** Ends only this grant: an old token must not end a newer grant. */
    revokeById: (creatorId: string, grantId: string, reason: GrantEndReason) => end(creatorId, { grantId }, reason),

    /** Ends the family of a public app's device, and the grant with its last one. */
    revokeFamily: (creatorId: string, familyId: string, reason: GrantEndReason) => end(creatorId, { familyId }, reason),

    /** `null` ends the suspension. Returns whether the creator or app exists. */
    async suspend(kind: 'creator' | 'app', id: string, at: number | null): Promise<boolean> {
      const found = await (kind === 'app' ? apps : accounts).setSuspended(id, at);
      announce('*');
      return found;
    },

    ...createForgetting({ db, clock }),
  };
}

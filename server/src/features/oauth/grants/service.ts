import { afterAllIds } from '../../../platform/ids.ts';
import type { Origin } from '../../../platform/origin.ts';
import type { Platform } from '../../../platform/platform.ts';
import { hashSecret, newSecret } from '../../../platform/secrets.ts';
import type { Accounts } from '../../accounts/index.ts';
import type { AppRow, Apps } from '../../apps/index.ts';
import type { GrantEndReason } from '../../events/index.ts';
import { signToken, type Tokens } from '../keys/tokens.ts';
import { formatScopes, parseScopes, type Scope } from '../scopes.ts';
import { type TokenResponse, toTokenResponse } from '../token-response.ts';
import * as appEnd from './app-end-repo.ts';
import * as connections from './connections-repo.ts';
import { deletedAppsInBatches } from './deleted-apps.ts';
import { type BetweenWrites, createPruning } from './prune.ts';
import { familyPartsOf, type NewFamilyParts, newFamily } from './refresh-tokens.ts';
import type * as repo from './repo.ts';

export interface GrantsParts extends Pick<Platform, 'db' | 'origins' | 'hub' | 'clock' | 'newId'>, NewFamilyParts {
  readonly accounts: Pick<Accounts, 'setSuspended' | 'sandboxOf'>;
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

type SandboxApp = Pick<AppRow, 'id' | 'public'>;

export type Grants = ReturnType<typeof createGrants>;

/** The topic of hints that a grant, an app or a creator has changed. The message is the creator's id, or `*` for many. */
export const accessTopic = 'access';

/** The spec: five minutes after issue. */
const codeLifeMs = 5 * 60_000;

/** Grants that end in one write. Each leaves a row in the audit log. */
const endBatch = 100;

/** To the creators who connected it, an app does what its developer does, and the developer's address is not theirs. */
function byApp(origin: Origin, ownerId: string, clientId: string): Origin {
  return origin.actor === ownerId ? { ...origin, actor: clientId, address: null } : origin;
}

class GrantError extends Error {
  readonly code: 'scope_unknown' | 'app_not_of_developer';
  constructor(code: GrantError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

export function createGrants(parts: GrantsParts) {
  const { db, origins, hub, clock, newId, accounts, apps, tokens, writes } = parts;

  async function approve(approval: Omit<repo.Approval, 'newGrantId'>): Promise<string> {
    const grantId = await db.write(writes.approveGrant, origins.current(), { ...approval, newGrantId: newId('grt') });
    // The grant may have lost scopes, so open connections are rechecked.
    announce(approval.creatorId);
    return grantId;
  }

  /** By the owner of the app, for the own account or a sandbox creator. The grant is marked so. */
  async function approveOwn(approval: Omit<repo.Approval, 'newGrantId' | 'byOperator' | 'byOwner'>) {
    const marked = { ...approval, newGrantId: newId('grt'), byOperator: false, byOwner: true };
    const grantId = await db.write(writes.approveOwnGrant, origins.current(), marked);
    if (grantId !== undefined) announce(approval.creatorId);
    return grantId;
  }

  /** What approves a grant together with a new family, and signs the first tokens after that. */
  async function prepareFamily(creatorId: string, clientId: string, scopes: readonly Scope[], life: NewFamilyParts) {
    const signing = await tokens.signing('access');
    const now = clock();
    const scope = formatScopes(scopes);
    const { family, refreshToken } = newFamily(life, now);
    const sign = (grantId: string) =>
      signToken(signing, { creatorId, clientId, grantId, familyId: family.familyId, scope }, now);
    return {
      approval: { creatorId, clientId, scope, now, issue: { family } },
      sign,
      respond: (grantId: string): TokenResponse => toTokenResponse(sign(grantId), refreshToken, scope),
    };
  }

  async function end(creatorId: string, grant: repo.GrantEnd['grant'], reason: GrantEndReason): Promise<boolean> {
    const ended = { creatorId, grant, reason, now: clock(), newEventId: newId('evt') };
    try {
      const found = await db.write(writes.endGrant, origins.current(), ended);
      if (found !== undefined) announce(creatorId);
      return found !== undefined;
    } catch (error) {
      // The grant may have ended although the answer was lost. A repeat then finds nothing to announce.
      announce(creatorId);
      throw error;
    }
  }

  async function endGrantsOf(clientId: string, origin: () => Origin, between?: BetweenWrites): Promise<void> {
    for (;;) {
      const started = performance.now();
      const ended = await db.write(appEnd.writes.endGrantsOfApp, origin(), clientId, clock(), endBatch);
      // One that ended meanwhile is missing from a batch, although more may follow.
      if (ended.length === 0) return;
      await between?.(performance.now() - started);
    }
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
      const grantId = await db.write(
        writes.approveDevice,
        origins.current(),
        { ...approval, issue: { device: { hash } } },
        hash,
      );
      announce(creatorId);
      return grantId !== undefined;
    },

    /** Issues a grant without the consent page, for tests and the operator's tools. The creator's page marks it. */
    async addByOperator(creatorId: string, clientId: string, scopeText: string): Promise<TokenResponse> {
      const { scopes, unknown } = parseScopes(scopeText);
      if (unknown.length > 0) throw new GrantError('scope_unknown', `There is no scope "${unknown[0]}".`);
      const app = await apps.byId(clientId);
      const developer = await accounts.sandboxOf(creatorId);
      if (developer !== null && app.owner_id !== developer)
        throw new GrantError('app_not_of_developer', 'A sandbox creator connects only apps of its own developer.');
      const { approval, respond } = await prepareFamily(creatorId, clientId, scopes, familyPartsOf(app, parts));
      return respond(await approve({ ...approval, byOperator: true }));
    },

    /**
     * An access token of an app for its owner's own account, for first calls. It cannot be refreshed: its family expires
     * with it. Returns nothing if the creator does not own the app, or it is suspended.
     */
    async issueToOwner(creatorId: string, clientId: string, scopes: readonly Scope[]) {
      const lifeMs = parts.accessTokenSeconds * 1000;
      const life = { newId, refreshIdleMs: lifeMs, refreshMaxMs: lifeMs };
      const { approval, sign } = await prepareFamily(creatorId, clientId, scopes, life);
      const grantId = await approveOwn(approval);
      return grantId === undefined ? undefined : sign(grantId);
    },

    /**
     * Tokens of an app for a sandbox creator of its owner, which can be refreshed. Returns nothing if the app is not of
     * that developer, or app or creator is suspended.
     */
    async issueForSandbox(creatorId: string, app: SandboxApp, scopes: readonly Scope[]) {
      const { approval, respond } = await prepareFamily(creatorId, app.id, scopes, familyPartsOf(app, parts));
      const grantId = await approveOwn(approval);
      return grantId === undefined ? undefined : respond(grantId);
    },

    /** To be called after a commit that ended a family. A lost hint delays the close of sockets by up to ten seconds. */
    announce,

    isConnected: (creatorId: string, clientId: string) => connections.isConnected(db, creatorId, clientId),

    connections: (creatorId: string) => connections.connectionsOf(db, creatorId),

    /** Creators who have connected the app, newest first; those before a grant, if its id is given. */
    connectedCreators: (clientId: string, before: string | null, limit: number) =>
      connections.connectedCreators(db, clientId, before ?? afterAllIds, limit),

    connectedSandboxes: (developerId: string, clientId: string) =>
      connections.connectedSandboxes(db, developerId, clientId),

    appsEver: (creatorId: string) => connections.appsEver(db, creatorId),

    /** Returns whether the owner has such an app. */
    async deleteApp(ownerId: string, clientId: string, between?: BetweenWrites): Promise<boolean> {
      if (!(await db.write(appEnd.writes.deleteApp, origins.current(), ownerId, clientId, clock()))) return false;
      announce('*');
      await endGrantsOf(clientId, () => byApp(origins.current(), ownerId, clientId), between);
      return true;
    },

    /** Ends the grants of deleted apps that a process has left, because it was killed. */
    async endGrantsOfDeletedApps(): Promise<void> {
      for await (const deleted of deletedAppsInBatches(db))
        for (const { id, has_live_grants } of deleted) if (has_live_grants) await endGrantsOf(id, origins.clock);
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

    ...createPruning({ db, clock }),
  };
}

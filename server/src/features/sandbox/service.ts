/**
 * Sandbox creators: creators of a developer, for trying apps. They are ordinary creators in every respect, except that
 * nobody can sign in as one, that only their developer's apps can be connected, and that they are never listed beside
 * real creators.
 */
import { ApiError } from '../../errors.ts';
import type { Platform } from '../../platform/platform.ts';
import { checkDisplayName } from '../accounts/index.ts';
import type { Apps } from '../apps/index.ts';
import type { RowDeletion } from '../leaving/index.ts';
import type { BetweenWrites, Grants, Scope } from '../oauth/index.ts';
import * as repo from './repo.ts';

export interface SandboxParts extends Pick<Platform, 'db' | 'origins' | 'clock' | 'newId'> {
  readonly apps: Pick<Apps, 'ownedBy'>;
  readonly grants: Pick<Grants, 'issueForSandbox' | 'revoke'>;
  readonly rowDeletion: Pick<RowDeletion, 'creator'>;
  readonly authUrl: string;
}

export type Sandbox = ReturnType<typeof createSandbox>;
export type SandboxCreator = repo.SandboxRow;

export interface OwnedSandbox extends SandboxCreator {
  readonly developerId: string;
}

/** The most sandbox creators of one developer. */
export const mostSandboxes = 5;

export class SandboxError extends Error {
  readonly code: 'too_many_sandboxes' | 'sandbox_exists';
  constructor(code: SandboxError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

export function createSandbox({ db, origins, clock, newId, apps, grants, rowDeletion, authUrl }: SandboxParts) {
  const { hostname } = new URL(authUrl);
  const { writes } = repo;

  function checkedName(displayName: string): string {
    const name = displayName.trim();
    checkDisplayName(name, hostname);
    return name;
  }

  /** Deletes all that is left of a creator. Begun again after a crash, it goes on where it stopped. */
  async function finishRemoval(creatorId: string, between?: BetweenWrites): Promise<void> {
    // Until nothing is found: requests that were under way may have added something.
    while ((await rowDeletion.creator(creatorId, between)) > 0);
    await db.write(writes.deleteCreator, creatorId);
  }

  return {
    /** Oldest first. */
    list: (developerId: string): Promise<SandboxCreator[]> => repo.sandboxesOf(db, developerId),

    /** Throws a 404 for the sandbox creator of another developer or a suspended one, as for one that does not exist. */
    async requireOwned(developerId: string, creatorId: string): Promise<OwnedSandbox> {
      const creator = await repo.sandboxOfDeveloper(db, developerId, creatorId);
      if (!creator) throw new ApiError('not_found');
      return { ...creator, developerId };
    },

    /** `id`: of a form that may be sent twice. Rejects with `AccountError` for a name that is refused. */
    async create(developerId: string, displayName: string, id: string = newId('crt')): Promise<SandboxCreator> {
      // A name of its own: one that the developer chooses could be the one that a real creator wants.
      const username = `sandbox_${id.slice(-12)}`;
      const named = { id, username, display_name: checkedName(displayName) };
      const creator: SandboxCreator = { ...named, suspended_at: null, created_at: clock() };
      const added = await db.write(writes.insertSandbox, origins.current(), developerId, creator, mostSandboxes);
      if (added === 'exists') throw new SandboxError('sandbox_exists', 'The sandbox creator exists already.');
      if (added === 'too_many')
        throw new SandboxError('too_many_sandboxes', `A developer has at most ${mostSandboxes} sandbox creators.`);
      return creator;
    },

    /** Returns whether the developer has such a creator. */
    rename: (developerId: string, creatorId: string, displayName: string): Promise<boolean> =>
      db.write(writes.renameSandbox, origins.current(), developerId, creatorId, checkedName(displayName)),

    /** Ends its grants, then deletes everything of it. Returns whether the developer has such a creator. */
    async remove(developerId: string, creatorId: string, between?: BetweenWrites): Promise<boolean> {
      if (!(await db.write(writes.startRemoval, origins.current(), developerId, creatorId, clock()))) return false;
      await finishRemoval(creatorId, between);
      return true;
    },

    /** Removals that a process began and did not finish. */
    async finishRemovals(): Promise<void> {
      for (const { id } of await repo.removedSandboxes(db)) await finishRemoval(id);
    },

    /**
     * Connects an app of the developer to a sandbox creator, with tokens that can be refreshed. Returns nothing if one
     * of the two is not theirs, or is suspended.
     */
    async connect(developerId: string, creatorId: string, clientId: string, scopes: readonly Scope[]) {
      const creator = await repo.sandboxOfDeveloper(db, developerId, creatorId);
      const app = creator && (await apps.ownedBy(developerId, clientId));
      return app && grants.issueForSandbox(creatorId, app, scopes);
    },

    /** Ends a grant. Returns whether there was one. */
    async disconnect(developerId: string, creatorId: string, clientId: string): Promise<boolean> {
      if (!(await repo.sandboxOfDeveloper(db, developerId, creatorId))) return false;
      return grants.revoke(creatorId, clientId, 'creator');
    },
  };
}

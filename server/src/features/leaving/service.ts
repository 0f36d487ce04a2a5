/**
 * Accounts that are deleted. Invariants:
 *
 * - The state is in the database. A process that is killed at any moment leaves a deletion that another one finishes.
 * - One node deletes one account at a time. Its lease ends soon after its death.
 * - Once the first row is deleted, nobody can restore the account.
 * - An account that was deleted, or waits for it, is so in a restored copy too.
 */
import { StorageUnavailable } from '../../platform/db/database.ts';
import type { Platform } from '../../platform/platform.ts';
import { AccountError, type Accounts } from '../accounts/index.ts';
import type { BetweenWrites, Grants } from '../oauth/index.ts';
import type { RowDeletion } from './delete-rows.ts';
import { ownedTables } from './delete-rows-repo.ts';
import { type DeletionsFile, gracePeriodMs, recordRetentionMs } from './deletions-file.ts';
import * as repo from './repo.ts';
import type { TakenNames } from './taken-names.ts';

export interface LeavingParts extends Pick<Platform, 'db' | 'origins' | 'clock' | 'wait' | 'newId' | 'log'> {
  readonly accounts: Pick<Accounts, 'byId'>;
  readonly grants: Pick<Grants, 'announce'>;
  readonly audit: { erase(creatorId: string): Promise<void> };
  readonly rowDeletion: RowDeletion;
  /** The sandbox creators of an account go first. */
  readonly sandbox: {
    list(developerId: string): Promise<readonly { readonly id: string }[]>;
    remove(developerId: string, creatorId: string, between: BetweenWrites): Promise<boolean>;
  };
  readonly takenNames: TakenNames;
  /** Where continuous copies are. */
  readonly file: DeletionsFile | undefined;
}

export type Leaving = ReturnType<typeof createLeaving>;

const leaseMs = 15_000;
/** Rows that other nodes still had in memory when the last one was deleted are looked for after this time. */
const settledMs = 20_000;
/** A vacuum keeps what an open transaction may still read, such as that of a dump. By then it has ended. */
const cleanedAgainMs = 86_400_000;

class LeaseLost extends Error {}

/** Somebody restored the account before its deletion began. */
class Restored extends Error {
  readonly code = 'creator_restored';
  override readonly message = 'The account was not deleted: its owner, or an operator, has restored it.';
}

export function createLeaving(parts: LeavingParts) {
  const { db, origins, clock, wait, newId, log, accounts, grants, audit, rowDeletion, sandbox, takenNames, file } =
    parts;
  const { writes } = repo;
  let running: Promise<void> | undefined;

  /** Renews the lease, and leaves the database to others for three times as long as the last write took. */
  function holding(creatorId: string, token: string): BetweenWrites {
    let renewedAt = clock();
    return async (tookMs) => {
      await wait(Math.ceil(3 * tookMs));
      if (clock() - renewedAt < leaseMs / 3) return;
      renewedAt = clock();
      if (!(await db.write(writes.renewLease, creatorId, token, renewedAt + leaseMs))) throw new LeaseLost();
    };
  }

  /** Returns whether the account is gone. */
  async function deleteAccount(creatorId: string): Promise<boolean> {
    const creator = await accounts.byId(creatorId);
    if (!creator) return true;
    const token = newId('lse');
    const lease = { token, from: clock(), until: clock() + leaseMs };
    if (!(await db.write(writes.beginDeletion, creatorId, lease))) return false;
    try {
      await deleteLeased(creator, holding(creatorId, token));
    } catch (error) {
      // Others may go on at once, with this account or another.
      if (!(error instanceof LeaseLost)) await db.write(writes.renewLease, creatorId, token, 0).catch(() => false);
      throw error;
    }
    grants.announce('*');
    return true;
  }

  async function deleteLeased({ id: creatorId, username }: { id: string; username: string }, between: BetweenWrites) {
    for (const { id } of await sandbox.list(creatorId)) await sandbox.remove(creatorId, id, between);
    await rowDeletion.apps(creatorId, between);
    // Until nothing is found: others may have added something meanwhile.
    while ((await rowDeletion.creator(creatorId, between)) > 0);
    await audit.erase(creatorId);
    await db.write(writes.finishDeletion, origins.current(), creatorId, takenNames.prepare(username), clock());
  }

  /** One that fails is tried again at the next run, and keeps no other from being deleted. Returns the errors. */
  async function deleteDue(): Promise<unknown[]> {
    const errors: unknown[] = [];
    for (const { id } of await repo.dueDeletions(db, clock())) {
      try {
        await deleteAccount(id);
      } catch (error) {
        if (error instanceof StorageUnavailable) throw error;
        if (error instanceof LeaseLost)
          log.warn({ creator: id }, 'another node has gone on with the deletion of an account');
        else errors.push(error);
      }
    }
    return errors;
  }

  /** Leaves as little in the files as the engine can. Resolves to false if it has to be tried again. */
  async function cleanFiles(): Promise<boolean> {
    await db.vacuum?.(ownedTables);
    return (await db.truncateLog?.()) ?? true;
  }

  async function finish(): Promise<void> {
    const unclean = await repo.uncleanDeletions(db, clock(), { firstMs: settledMs, againMs: cleanedAgainMs });
    for (const { creator_id } of unclean) {
      await rowDeletion.creator(creator_id);
      await audit.erase(creator_id);
    }
    if (unclean.length > 0 && (await cleanFiles()))
      for (const { creator_id } of unclean) await db.write(writes.setCleaned, creator_id, clock());
  }

  async function record(): Promise<void> {
    const erased = await repo.deletedAccounts(db);
    const asked = await repo.askedDeletions(db, clock() - recordRetentionMs - gracePeriodMs);
    file?.record({ erased, asked }, clock());
  }

  async function run(): Promise<void> {
    await record();
    const errors = await deleteDue();
    await db.write(writes.forgetDeletions, clock() - recordRetentionMs, clock());
    await record();
    await finish();
    if (errors.length > 0) throw errors[0];
  }

  /** `now`: without the time to change one's mind. Returns when the deletion begins. */
  async function ask(creatorId: string, now = false): Promise<number> {
    const asked = await db.write(
      writes.askDeletion,
      origins.current(),
      creatorId,
      clock(),
      now ? clock() : clock() + gracePeriodMs,
    );
    if (asked === 'is_demo')
      throw new AccountError('creator_is_demo', 'The demo world is removed as a whole: namjai demo remove');
    if (asked === 'unknown') throw new AccountError('creator_unknown', 'There is no such account.');
    grants.announce('*');
    return asked.deleteAt;
  }

  return {
    ask,

    /** Returns whether the account waited for its deletion, and the caller may end that. */
    async restore(creatorId: string, by: 'owner' | 'operator'): Promise<boolean> {
      const restored = await db.write(writes.undoDeletion, origins.current(), creatorId, by === 'operator');
      if (restored) grants.announce('*');
      return restored;
    },

    /** Deletes an account now, in this process or with another one that has begun. Rejects if it is restored first. */
    async deleteNow(creatorId: string): Promise<void> {
      const deleteAt = await ask(creatorId, true);
      while (!(await deleteAccount(creatorId))) {
        const { delete_at } = (await accounts.byId(creatorId)) ?? { delete_at: deleteAt };
        // A later time is that of another request, made after the account was restored.
        if (delete_at === null || delete_at > deleteAt) throw new Restored();
        await wait(1000);
      }
      await cleanFiles();
    },

    /** Deletes what is due, and cleans up after it. Never runs twice at once. */
    tick(): Promise<void> {
      running ??= run().finally(() => {
        running = undefined;
      });
      return running;
    },

    /** At the start: deletions that the database does not know, because it was restored from a copy. */
    async applyDeletions(): Promise<void> {
      const { erased, asked } = file?.read() ?? { erased: [], asked: [] };
      const again: string[] = [];
      for (const { creator_id } of erased)
        if (await accounts.byId(creator_id)) {
          await ask(creator_id, true);
          again.push(creator_id);
        }
      for (const deletion of asked)
        if (await db.write(writes.applyAsked, origins.current(), deletion)) again.push(deletion.creator_id);
      if (again.length > 0) log.warn({ creators: again }, 'deletions of accounts are applied again to a restored copy');
    },
  };
}

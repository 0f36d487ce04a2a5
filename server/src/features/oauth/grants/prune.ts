import { timeText } from '../../../platform/ids.ts';
import type { Platform } from '../../../platform/platform.ts';
import { deletedAppsInBatches } from './deleted-apps.ts';
import * as repo from './prune-repo.ts';

/** Long enough to investigate an incident, and for a stolen token to give itself away. */
const retentionMs = 30 * 86_400_000;
/** The error of an expired code is that of an unknown one. For this long its description says that the code has expired. */
const unusedCodesRetentionMs = 3_600_000;
const deleteBatch = 500;

/** Called between two writes with the time that the last one took. */
export type BetweenWrites = (tookMs: number) => Promise<void>;

/**
 * Deletes grants, families, tokens, codes and apps some time after their end. A token or code that was deleted is refused
 * as an unknown one.
 */
export function createPruning({ db, clock }: Pick<Platform, 'db' | 'clock'>) {
  const { writes } = repo;

  async function family(key: repo.FamilyKey): Promise<void> {
    while (!(await db.write(writes.pruneFamily, key, deleteBatch, clock())));
  }

  async function families(next: () => Promise<repo.FamilyKey[]>, between?: BetweenWrites): Promise<void> {
    for (;;) {
      const keys = await next();
      for (const key of keys) {
        const started = performance.now();
        await family(key);
        await between?.(performance.now() - started);
      }
      if (keys.length < deleteBatch) return;
    }
  }

  return {
    /** Rotated tokens, and families of which nothing is left but a token that expired unused. */
    async pruneTokens(): Promise<void> {
      const before = clock() - retentionMs;
      for (let after = ''; ; ) {
        const tokens = await repo.tokensBetween(db, after, timeText(before), deleteBatch);
        const rotated = tokens.filter(({ used_at }) => used_at !== null && used_at < before);
        if (rotated.length > 0)
          await db.write(
            writes.deleteRotatedTokens,
            rotated.map(({ hash }) => hash),
          );
        for (const token of tokens)
          if (token.used_at === null && token.expires_at < before)
            await family({ creator_id: token.creator_id, id: token.family_id });
        const last = tokens.at(-1);
        if (!last || tokens.length < deleteBatch) return;
        after = last.hash;
      }
    },

    /** Families that ended or expired, then grants that ended. */
    async pruneEnded(): Promise<void> {
      const before = clock() - retentionMs;
      await families(() => repo.familiesEndedBefore(db, before, deleteBatch));
      for (;;) {
        const grant = await repo.unsweptGrant(db, before);
        if (!grant) return;
        await families(() => repo.familiesOf(db, grant.creator_id, grant.id, deleteBatch));
        await db.write(writes.pruneGrant, grant);
      }
    },

    /** All families of a creator whose account is being deleted. */
    deleteFamiliesOf: (creatorId: string, between?: BetweenWrites): Promise<void> =>
      families(() => repo.familiesOfCreator(db, creatorId, deleteBatch), between),

    async pruneCodes(): Promise<void> {
      const before = clock() - unusedCodesRetentionMs;
      while ((await db.write(writes.deleteUnusedCodes, before, deleteBatch)) > 0);
    },

    async pruneApps(): Promise<void> {
      const before = clock() - retentionMs;
      for await (const deleted of deletedAppsInBatches(db)) {
        const unused = deleted.filter(({ deleted_at, has_grants }) => deleted_at < before && !has_grants);
        if (unused.length > 0)
          await db.write(
            writes.deleteUnusedApps,
            unused.map(({ id }) => id),
          );
      }
    },
  };
}

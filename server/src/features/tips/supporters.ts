import type { Platform } from '../../platform/platform.ts';
import type { WorkQueue } from '../../platform/work-queue.ts';
import * as repo from './supporters-repo.ts';

export interface SupportersParts extends Pick<Platform, 'db' | 'zone'> {
  /** Where all reading of long histories waits its turn. */
  readonly queue: WorkQueue;
  /** `asOf`: now, or the time of the creator's newest event if that is later. */
  readonly headOf: (creatorId: string) => Promise<{ asOf: number; head: { readonly move_count: number } }>;
}

export interface TopSupporter {
  readonly name: string;
  readonly totalMinor: number;
  readonly count: number;
}

/** The most tips of one write: a few milliseconds. */
const batchSize = 1_000;

/** The supporters who have tipped most (supporters-repo.ts). */
export function createSupporters({ db, zone, queue, headOf }: SupportersParts) {
  /** The moves of a list that are in progress, one for each creator: all who read at once wait for the same. */
  const moving = new Map<string, Promise<void>>();

  async function todayOf(creatorId: string): Promise<repo.Today> {
    const { asOf: now, head } = await headOf(creatorId);
    const [dayStartsAt = 0, dayEndsAt = 0] = zone.lastDays(now, 1);
    const moves = head.move_count;
    return { zone: zone.name, dayStartsAt, dayEndsAt, monthStartsAt: zone.month(now).startsAt, moves };
  }

  async function isCurrent(creatorId: string, today: repo.Today): Promise<boolean> {
    const list = await repo.supporterList(db, creatorId);
    if (!list || list.time_zone !== today.zone) return false;
    if (list.day_starts_at < today.dayStartsAt || list.month_starts_at < today.monthStartsAt) return false;
    return !(await repo.anyTipAfter(db, creatorId, { createdAt: list.created_at, sequence: list.sequence }));
  }

  async function moveToNewest(creatorId: string): Promise<void> {
    for (;;) {
      const today = await todayOf(creatorId);
      if (await isCurrent(creatorId, today)) return;
      while (await queue.runAdmitted(creatorId, () => db.write(repo.writes.countTips, creatorId, today, batchSize)));
    }
  }

  async function move(creatorId: string): Promise<void> {
    if (await isCurrent(creatorId, await todayOf(creatorId))) return;
    // A move that began earlier may have missed the newest tip, so the list is read again after it.
    await moving.get(creatorId)?.catch(() => {});
    const own = moving.get(creatorId) ?? moveToNewest(creatorId);
    moving.set(creatorId, own);
    try {
      await own;
    } finally {
      if (moving.get(creatorId) === own) moving.delete(creatorId);
    }
  }

  return async (creatorId: string, period: repo.Period, limit: number): Promise<TopSupporter[]> => {
    await move(creatorId);
    const rows = await repo.topSupporters(db, creatorId, period, limit);
    return rows.map(({ name, total_minor, tip_count }) => ({ name, totalMinor: total_minor, count: tip_count }));
  };
}

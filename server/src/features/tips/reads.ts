import { setImmediate as nextIteration } from 'node:timers/promises';
import { ApiError } from '../../errors.ts';
import { toTimestamp } from '../../platform/clock.ts';
import type { Platform } from '../../platform/platform.ts';
import type { EventLog } from '../events/index.ts';
import * as alertRepo from './alert-repo.ts';
import type { Cursor } from './cursor.ts';
import type { Selection } from './range.ts';
import * as repo from './repo.ts';
import type { Tip, TipStats } from './schemas.ts';

export interface ReadsParts extends Pick<Platform, 'db' | 'zone'> {
  /** The creator's head, and now, or the time of the newest event if that is later. */
  readonly headOf: (creatorId: string) => Promise<{
    readonly head: NonNullable<Awaited<ReturnType<EventLog['head']>>>;
    readonly asOf: number;
  }>;
}

export interface TipHistory extends alertRepo.Decision {
  readonly tip: Tip;
  /** Of the event that has told of the tip. */
  readonly sequence: number;
}

/** Far more than a person skips; whoever skips more by a script learns of the others from the event log alone. */
const maxSkipped = 500;
/** How many of the newest tips are searched for those whose alert still waits: more than are shown in a day. */
const maxQueued = 5_000;
/**
 * How many of the newest tips are searched for those that may stand in public lists: `most` if too few of the `first` may.
 */
const searched = { first: 1000, most: 20_000 };

/** A page that leaves out voided tips reads at most so many tips, after its first read so many at once. */
const maxPageRead = 1_000;
const passedOverAtOnce = 100;

/** Reads of tips that are bounded, however long the history is, so that they need no turn in the queue. */
export function createReads({ db, zone, headOf }: ReadsParts) {
  return {
    async byId(creatorId: string, id: string): Promise<Tip> {
      const row = await repo.tipById(db, creatorId, id);
      if (!row) throw noTip();
      return repo.toTip(row);
    },

    /** A tip with the sequence of the event that reported it. */
    async withSequence(creatorId: string, id: string): Promise<{ tip: Tip; sequence: number }> {
      const row = await repo.tipById(db, creatorId, id);
      if (!row) throw noTip();
      return { tip: repo.toTip(row), sequence: row.sequence };
    },

    /**
     * One page, newest first, and the cursor of the next one. A page of recorded tips has fewer than `limit` if it would
     * have to pass over too many voided ones.
     */
    async page(
      creatorId: string,
      selection: Selection,
      before: Cursor | null,
      limit: number,
    ): Promise<{ tips: Tip[]; next: Cursor | null }> {
      const cursorAt = (row: repo.TipRow): Cursor => ({
        ...selection,
        createdAt: row.created_at,
        sequence: row.sequence,
      });
      const rows: repo.TipRow[] = [];
      let next = before;
      for (let read = 0; read < maxPageRead; ) {
        const wanted = read === 0 ? limit + 1 : passedOverAtOnce;
        const batch = await repo.tipsPage(db, creatorId, selection, next, wanted);
        rows.push(...batch.filter((row) => repo.isSelected(row, selection)));
        const [end, last] = [rows[limit - 1], batch.at(-1)];
        if (end && rows.length > limit) return { tips: rows.slice(0, limit).map(repo.toTip), next: cursorAt(end) };
        if (!last || batch.length < wanted) return { tips: rows.map(repo.toTip), next: null };
        read += batch.length;
        next = cursorAt(last);
        await nextIteration();
      }
      return { tips: rows.map(repo.toTip), next };
    },

    async stats(creatorId: string): Promise<TipStats> {
      const { head, asOf } = await headOf(creatorId);
      const month = zone.month(asOf);
      const current = head.month === month.key;
      return {
        currency: 'THB',
        timezone: zone.name,
        all_time: totals(head.total_minor, head.tip_count),
        current_month: {
          month: month.key,
          starts_at: toTimestamp(month.startsAt),
          ends_at: toTimestamp(month.endsAt),
          ...totals(current ? head.month_total_minor : 0, current ? head.month_tip_count : 0),
        },
        as_of: toTimestamp(asOf),
      };
    },

    /** The newest tips that may stand in public lists. */
    async latest(creatorId: string, limit: number): Promise<Tip[]> {
      const near = await repo.latestListed(db, creatorId, limit, searched.first);
      const rows = near.length < limit ? await repo.latestListed(db, creatorId, limit, searched.most) : near;
      return rows.map(repo.toTip);
    },

    /** The sequence of the newest tip recorded before this instant; 0 if there is none. */
    newestBefore: async (creatorId: string, before: number): Promise<number> =>
      (await repo.newestBefore(db, creatorId, before))?.sequence ?? 0,

    anyQueued: (creatorId: string, from: number, before: number): Promise<boolean> =>
      alertRepo.anyQueued(db, creatorId, from, before),

    /** The newest tips whose alert was skipped. */
    skippedSince: async (creatorId: string, since: number): Promise<string[]> =>
      (await alertRepo.skippedSince(db, creatorId, since, maxSkipped)).map(({ id }) => id),

    shownSequence: (creatorId: string, id: string) => alertRepo.shownSequence(db, creatorId, id),

    /** What is kept of the way of a tip: the request, the rule that held it, what was decided about its alert. */
    async history(creatorId: string, id: string): Promise<TipHistory> {
      const row = await repo.tipById(db, creatorId, id);
      const decision = row && (await alertRepo.decisionOf(db, creatorId, id));
      if (!row || !decision) throw noTip();
      return { tip: repo.toTip(row), sequence: row.sequence, ...decision };
    },

    /** The creator of the tip with this id, whoever that is. */
    creatorOf: async (id: string): Promise<string | undefined> => (await repo.creatorOfTip(db, id))?.creator_id,

    /** Held tips of all creators that were recorded at or before this instant. */
    heldBefore: (before: number, limit: number) => alertRepo.heldBefore(db, before, limit),

    /**
     * Tips whose alerts were queued at or after this instant and still are, in the order in which they are shown: of the
     * newest `maxQueued` tips.
     */
    queuedSince: async (creatorId: string, since: number, limit: number): Promise<Tip[]> =>
      (await alertRepo.queuedSince(db, creatorId, since, limit, maxQueued)).map(repo.toTip),
  };
}

const totals = (minor: number, count: number) => ({ total: minor / 100, total_minor: minor, count });

export const noTip = (): ApiError => new ApiError('not_found', { message: 'There is no tip with this id.' });

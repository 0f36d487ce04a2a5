/**
 * The held tips of a creator. No index has them by creator, because each held tip would then write a page more, so the last
 * two days of the history are read, in batches. Nothing becomes held, and nothing is decided about a held tip, without an
 * event of the creator's log. So what was read once is cached, and of later events only their tips are read: a read after
 * a decision sees the decision, and costs no more in a long history.
 */
import { setImmediate as nextIteration } from 'node:timers/promises';
import { type Clock, endOfTime } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/database.ts';
import { setNewest } from '../../platform/lru-map.ts';
import type { WorkQueue } from '../../platform/work-queue.ts';
import * as alertRepo from './alert-repo.ts';
import { type TipRow, toTip } from './repo.ts';
import type { Tip } from './schemas.ts';

export interface HeldParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly queue: WorkQueue;
  /** Of the newest event of the creator. */
  readonly sequenceOf: (creatorId: string) => Promise<number>;
}

/** Brought up to date in place. */
interface Held {
  /** The oldest held tips, in order, at most `maxKept`. */
  readonly tips: TipRow[];
  /** The sequences of all held tips. */
  readonly sequences: Set<number>;
}

/** A tip is held for a day, and a little longer until a job skips it. */
const longestHoldMs = 48 * 3_600_000;
/** How many tips one batch has, held or not. */
const batchSize = 2_000;
const maxListed = 500;
/** How many tips are kept, so that the history is read again only when so many of them are decided that a list lacks some. */
const maxKept = 2 * maxListed;
/** After more events than these the history is read again. */
const maxEvents = 200;
/** Whose held tips are remembered: up to a megabyte each, and two of sequences if all of a long history is held. */
const maxCreators = 20;

export function createHeld({ db, clock, queue, sequenceOf }: HeldParts) {
  const known = new Map<string, { readonly sequence: number; readonly held: Promise<Held> }>();

  /** Returns where the next batch begins, if there is one. */
  async function readBatch(creatorId: string, from: number, { tips, sequences }: Held): Promise<number | undefined> {
    const end = await alertRepo.endOfBatch(db, creatorId, from, batchSize);
    // Beyond `from` even if more tips than a batch has are of this very time.
    const next = end === undefined ? undefined : Math.max(end, from + 1);
    const span = { from, before: next ?? endOfTime };
    const found = await alertRepo.heldSequences(db, creatorId, span);
    for (const sequence of found) sequences.add(sequence);
    if (found.length > 0 && tips.length < maxKept)
      tips.push(...(await alertRepo.heldTips(db, creatorId, span, maxKept - tips.length)));
    return next;
  }

  async function read(creatorId: string): Promise<Held> {
    const held: Held = { tips: [], sequences: new Set() };
    let next = await readBatch(creatorId, clock() - longestHoldMs, held);
    while (next !== undefined) {
      const from = next;
      next = await queue.runAdmitted(creatorId, async () => {
        await nextIteration();
        return readBatch(creatorId, from, held);
      });
    }
    return held;
  }

  /**
   * Applies the events after one up to another. A reading takes a while, so it may have seen what later events did: each
   * tip of them is read as it is now, and applied whether or not it is known.
   */
  async function catchUp(creatorId: string, held: Held, after: number, upTo: number): Promise<Held> {
    const changed = await alertRepo.tipsOfEvents(db, creatorId, after, upTo);
    if (!changed) return read(creatorId);
    const { tips, sequences } = held;
    for (const tip of changed) {
      const listed = tips.findIndex(({ sequence }) => sequence === tip.sequence);
      if (tip.alert_status === 'held') {
        const isNext = !sequences.has(tip.sequence) && tips.length === sequences.size && tips.length < maxKept;
        sequences.add(tip.sequence);
        if (listed >= 0) tips[listed] = tip;
        else if (isNext) tips.push(tip);
      } else {
        sequences.delete(tip.sequence);
        if (listed >= 0) tips.splice(listed, 1);
      }
    }
    return tips.length < Math.min(maxListed, sequences.size) ? read(creatorId) : held;
  }

  /** Those who ask at the same time share one reading. */
  async function heldOf(creatorId: string): Promise<Held> {
    const sequence = await sequenceOf(creatorId);
    const before = known.get(creatorId);
    if (before && before.sequence >= sequence) return before.held;
    const held =
      before && sequence - before.sequence <= maxEvents
        ? before.held.then(
            (found) => catchUp(creatorId, found, before.sequence, sequence),
            () => read(creatorId),
          )
        : read(creatorId);
    setNewest(known, creatorId, { sequence, held }, maxCreators);
    held.catch(() => {
      if (known.get(creatorId)?.held === held) known.delete(creatorId);
    });
    return held;
  }

  return {
    /** The held tips of a creator, the oldest first. */
    held: async (creatorId: string, limit: number): Promise<Tip[]> =>
      (await heldOf(creatorId)).tips.slice(0, Math.min(limit, maxListed)).map(toTip),
    countHeld: async (creatorId: string): Promise<number> => (await heldOf(creatorId)).sequences.size,
  };
}

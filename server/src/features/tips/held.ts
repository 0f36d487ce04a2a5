/**
 * The held tips of a creator. No index has them by creator, because each held tip would then write a page more, so the last
 * two days of the history are read: in parts, and once for each event of the creator's log. Nothing becomes held, and
 * nothing is decided about a held tip, without an event.
 */
import { setImmediate as nextIteration } from 'node:timers/promises';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/database.ts';
import type { WorkQueue } from '../../platform/work-queue.ts';
import * as alertRepo from './alert-repo.ts';
import { toTip } from './repo.ts';
import type { Tip } from './schemas.ts';

export interface HeldParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly queue: WorkQueue;
  /** Of the newest event of the creator. */
  readonly sequenceOf: (creatorId: string) => Promise<number>;
}

interface Held {
  /** The oldest. */
  readonly tips: readonly Tip[];
  readonly count: number;
}

/** A tip is held for a day, and a little longer until a job skips it. */
const longestHoldMs = 48 * 3_600_000;
/** How many tips one part has, held or not. */
const partSize = 2_000;
const maxListed = 500;
/** Whose held tips are remembered: up to half a megabyte each. */
const maxCreators = 20;

export function createHeld({ db, clock, queue, sequenceOf }: HeldParts) {
  const known = new Map<string, { readonly sequence: number; readonly held: Promise<Held> }>();

  async function readPart(creatorId: string, from: number, tips: Tip[]): Promise<{ count: number; next?: number }> {
    const end = await alertRepo.endOfPart(db, creatorId, from, partSize);
    // Beyond `from` even if more tips than a part has are of this very time.
    const next = end === undefined ? undefined : Math.max(end, from + 1);
    const span = { from, before: next ?? Number.MAX_SAFE_INTEGER };
    const count = await alertRepo.countHeld(db, creatorId, span);
    if (count > 0 && tips.length < maxListed)
      tips.push(...(await alertRepo.heldTips(db, creatorId, span, maxListed - tips.length)).map(toTip));
    return next === undefined ? { count } : { count, next };
  }

  async function read(creatorId: string): Promise<Held> {
    const tips: Tip[] = [];
    let part = await readPart(creatorId, clock() - longestHoldMs, tips);
    let { count } = part;
    for (let { next } = part; next !== undefined; { next } = part) {
      const from = next;
      part = await queue.goOn(creatorId, async () => {
        await nextIteration();
        return readPart(creatorId, from, tips);
      });
      count += part.count;
    }
    return { tips, count };
  }

  /** Looks at the same time share one reading. */
  async function heldOf(creatorId: string): Promise<Held> {
    const sequence = await sequenceOf(creatorId);
    const before = known.get(creatorId);
    if (before?.sequence === sequence) return before.held;
    const held = read(creatorId);
    known.delete(creatorId);
    known.set(creatorId, { sequence, held });
    held.catch(() => known.delete(creatorId));
    for (const [oldest] of known) if (known.size > maxCreators) known.delete(oldest);
    return held;
  }

  return {
    /** The held tips of a creator, the oldest first. */
    held: async (creatorId: string, limit: number): Promise<Tip[]> => (await heldOf(creatorId)).tips.slice(0, limit),
    countHeld: async (creatorId: string): Promise<number> => (await heldOf(creatorId)).count,
  };
}

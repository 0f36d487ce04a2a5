import type { Platform } from '../../platform/platform.ts';
import { creatorGone, type EventLog, type Goal, toGoal } from '../events/index.ts';
import * as repo from './repo.ts';

export interface GoalsParts extends Pick<Platform, 'db' | 'clock' | 'newId'> {
  readonly events: EventLog;
  /** The total of the tips of [from, before) that are not voided. */
  readonly sumTips: (creatorId: string, from: number, before: number) => Promise<{ readonly totalMinor: number }>;
  /** The creator's goals have changed by hand. */
  readonly onChange: (creatorId: string) => void;
}

export interface GoalChange {
  readonly title: string;
  readonly targetMinor: number;
}

export interface GoalInput extends GoalChange {
  readonly startsAt: number;
  readonly endsAt: number | null;
}

export type Goals = ReturnType<typeof createGoals>;

/** Those that have ended are kept for the creator to look at. */
const limits: repo.GoalLimits = { open: 10, ended: 90 };

export function createGoals({ db, clock, newId, events, sumTips, onChange }: GoalsParts) {
  /**
   * What was tipped before the goal was made. A long history is read before the write; the write adds what came since.
   * The counts of voids and moves are read first: one meanwhile makes the write refuse the sum.
   */
  async function sumSoFar(creatorId: string, { startsAt, endsAt }: GoalInput): Promise<repo.NewGoal['summed']> {
    const head = await events.head(creatorId);
    if (!head) throw creatorGone();
    const until = Math.min(head.last_at, endsAt ?? head.last_at);
    const minor = startsAt < until ? (await sumTips(creatorId, startsAt, until)).totalMinor : 0;
    return { minor, until, voids: head.void_count, moves: head.move_count };
  }

  return {
    /** Those that count tips now or will, the oldest first. */
    open: async (creatorId: string): Promise<Goal[]> => (await repo.openGoals(db, creatorId, clock())).map(toGoal),

    ended: async (creatorId: string, limit: number): Promise<Goal[]> =>
      (await repo.endedGoals(db, creatorId, clock(), limit)).map(toGoal),

    /** Adds a goal, unless ten are open. One that has this id already is returned as it is. */
    async add(creatorId: string, input: GoalInput, id = newId('gol')): Promise<Goal | undefined> {
      // The write decides; to ask first spares the sum of a long history.
      const open = await repo.openGoals(db, creatorId, clock());
      if (open.length >= limits.open) {
        const known = await repo.goalOf(db, creatorId, id);
        return known && toGoal(known);
      }
      for (;;) {
        const summed = await sumSoFar(creatorId, input);
        const event = events.prepare({ creatorId, type: 'goal.reached' });
        const added = await db.write(repo.writes.addGoal, { id, ...input, summed }, event, limits);
        if (added === 'again') continue;
        if (added === 'too_many') return undefined;
        if (added.sequence !== null) events.announce(creatorId, added.sequence);
        onChange(creatorId);
        return toGoal(added.goal);
      }
    },

    /** Changes title and target. What was reached stays reached. Returns whether the goal was open. */
    async change(creatorId: string, id: string, input: GoalChange): Promise<boolean> {
      const event = events.prepare({ creatorId, type: 'goal.reached' });
      const changed = await db.write(repo.writes.changeGoal, id, input, event);
      if (!changed) return false;
      if (changed.sequence !== null) events.announce(creatorId, changed.sequence);
      onChange(creatorId);
      return true;
    },

    /** Returns whether the goal was open and had begun. */
    async end(creatorId: string, id: string): Promise<boolean> {
      const ended = await db.write(repo.writes.endGoal, creatorId, id, clock());
      if (ended) onChange(creatorId);
      return ended;
    },

    async remove(creatorId: string, id: string): Promise<boolean> {
      const removed = await db.write(repo.writes.deleteGoal, creatorId, id);
      if (removed) onChange(creatorId);
      return removed;
    },
  };
}

/**
 * What goals have raised, kept in the transaction that records or voids a tip. Invariants:
 *
 * - `raised_minor` is the sum of the tips with `starts_at` <= time < `ends_at` that are not voided.
 * - `creator_heads.goals_until` is the latest `ends_at` of the creator's goals. A tip at or after it concerns no goal.
 *   The head is locked whenever a tip is recorded or a goal is changed, so that neither misses the other.
 * - `reached_at` is set once and stays.
 */
import { toTimestamp, toTimestampOrNull } from '../../platform/clock.ts';
import { OwnerGone, type Tx } from '../../platform/db/database.ts';
import { createIds } from '../../platform/ids.ts';
import { appendEvent, type EventPosition, type Head, type PreparedEvent } from './repo.ts';
import type { Goal } from './schemas.ts';

export interface GoalRow {
  id: string;
  title: string;
  target_minor: number;
  raised_minor: number;
  starts_at: number;
  ends_at: number | null;
  reached_at: number | null;
}

export const goalColumns = 'id, title, target_minor, raised_minor, starts_at, ends_at, reached_at';

/** The goals that count a tip of the instant $2. */
const countingGoals = 'creator_id = $1 AND starts_at <= $2 AND (ends_at IS NULL OR ends_at > $2)';

/** Adds a new tip to the goals that count it. `event` is that of the tip. Appends an event for each goal it reaches. */
export async function addToGoals(
  tx: Tx,
  event: PreparedEvent,
  { createdAt, goalsUntil }: EventPosition & { readonly goalsUntil: number },
): Promise<void> {
  if (createdAt >= goalsUntil) return;
  const { creatorId, amountMinor, now } = event;
  await tx.run(`UPDATE goals SET raised_minor = raised_minor + $3 WHERE ${countingGoals}`, [
    creatorId,
    createdAt,
    amountMinor ?? 0,
  ]);
  const reached = await tx.all<GoalRow>(
    `UPDATE goals SET reached_at = $2
     WHERE ${countingGoals} AND reached_at IS NULL AND raised_minor >= target_minor RETURNING ${goalColumns}`,
    [creatorId, createdAt],
  );
  // How many ids are needed is known only here.
  const newId = createIds(() => now);
  for (const goal of reached.sort((a, b) => (a.id < b.id ? -1 : 1)))
    await appendReached(tx, { ...event, id: newId('evt') }, goal);
}

/** Appends `goal.reached`. Everything of `event` but its type and amount is used. */
export async function appendReached(tx: Tx, event: PreparedEvent, goal: GoalRow): Promise<EventPosition> {
  const reached: PreparedEvent = { ...event, type: 'goal.reached', amountMinor: null };
  return appendEvent(tx, reached, () => JSON.stringify({ goal: toGoal(goal) }));
}

/** Takes a voided tip from the goals that counted it. */
export async function takeFromGoals(tx: Tx, creatorId: string, tipTime: number, amountMinor: number): Promise<void> {
  await tx.run(`UPDATE goals SET raised_minor = raised_minor - $3 WHERE ${countingGoals}`, [
    creatorId,
    tipTime,
    amountMinor,
  ]);
}

export type LockedHead = Pick<Head, 'last_at' | 'void_count' | 'move_count'>;

/** Keeps tips of this creator from being recorded until the write ends. */
export async function lockHead(tx: Tx, creatorId: string): Promise<LockedHead> {
  const head = await tx.get<LockedHead>(
    'UPDATE creator_heads SET goals_until = goals_until WHERE creator_id = $1 RETURNING last_at, void_count, move_count',
    [creatorId],
  );
  if (!head) throw new OwnerGone(`creator ${creatorId} has no head`);
  return head;
}

export function toGoal(row: GoalRow): Goal {
  return {
    id: row.id,
    title: row.title,
    target: row.target_minor / 100,
    target_minor: row.target_minor,
    raised: row.raised_minor / 100,
    raised_minor: row.raised_minor,
    currency: 'THB',
    starts_at: toTimestamp(row.starts_at),
    ends_at: toTimestampOrNull(row.ends_at),
    reached_at: toTimestampOrNull(row.reached_at),
  };
}

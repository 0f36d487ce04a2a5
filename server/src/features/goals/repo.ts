/** Goals are changed under the lock of the creator's head (events/goals-repo.ts), so that no tip is missed. */
import { endOfTime } from '../../platform/clock.ts';
import { defineWrites, type Reader, type Tx } from '../../platform/db/database.ts';
import { appendReached, type GoalRow, goalColumns, lockHead, type PreparedEvent } from '../events/index.ts';

export function openGoals(db: Reader, creatorId: string, now: number): Promise<GoalRow[]> {
  return db.all<GoalRow>(
    `SELECT ${goalColumns} FROM goals WHERE creator_id = $1 AND (ends_at IS NULL OR ends_at > $2) ORDER BY id`,
    [creatorId, now],
  );
}

export function goalOf(db: Reader, creatorId: string, id: string): Promise<GoalRow | undefined> {
  return db.get<GoalRow>(`SELECT ${goalColumns} FROM goals WHERE creator_id = $1 AND id = $2`, [creatorId, id]);
}

/** Those that ended last, the latest first. */
export function endedGoals(db: Reader, creatorId: string, now: number, limit: number): Promise<GoalRow[]> {
  return db.all<GoalRow>(
    `SELECT ${goalColumns} FROM goals WHERE creator_id = $1 AND ends_at <= $2 ORDER BY ends_at DESC, id DESC LIMIT $3`,
    [creatorId, now, limit],
  );
}

export interface NewGoal {
  readonly id: string;
  readonly title: string;
  readonly targetMinor: number;
  readonly startsAt: number;
  readonly endsAt: number | null;
  /** The sum of the tips of [startsAt, until), read while the creator's head counted so many voids and moves. */
  readonly summed: {
    readonly minor: number;
    readonly until: number;
    readonly voids: number;
    readonly moves: number;
  };
}

export interface GoalLimits {
  readonly open: number;
  readonly ended: number;
}

type Added = { readonly goal: GoalRow; readonly sequence: number | null };

/**
 * Adds a goal with what it has raised. `reached` is the event that reports it, if that is enough already. Returns
 * the goal that has this id already, if there is one; `too_many` if the creator has too many open goals; and `again` if a
 * void, or a repair of the clock, has changed the sum since it was read.
 */
async function addGoal(
  tx: Tx,
  goal: NewGoal,
  reached: PreparedEvent,
  limits: GoalLimits,
): Promise<Added | 'too_many' | 'again'> {
  const { creatorId, now } = reached;
  const { id, title, targetMinor, startsAt, endsAt, summed } = goal;
  const head = await lockHead(tx, creatorId);
  const known = await goalOf(tx, creatorId, id);
  if (known) return { goal: known, sequence: null };
  if (head.void_count !== summed.voids || head.move_count !== summed.moves) return 'again';
  if ((await openGoals(tx, creatorId, now)).length >= limits.open) return 'too_many';
  const raised = summed.minor + (await sumOf(tx, creatorId, Math.max(startsAt, summed.until), endsAt ?? endOfTime));
  const at = Math.max(now, head.last_at);
  const row: GoalRow = {
    id,
    title,
    target_minor: targetMinor,
    raised_minor: raised,
    starts_at: startsAt,
    ends_at: endsAt,
    reached_at: raised >= targetMinor ? at : null,
  };
  await tx.run(
    `INSERT INTO goals (creator_id, id, title, target_minor, raised_minor, starts_at, ends_at, reached_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [creatorId, id, title, targetMinor, raised, startsAt, endsAt, row.reached_at],
  );
  await deleteOldest(tx, creatorId, now, limits.ended);
  await setGoalsUntil(tx, creatorId);
  const event = row.reached_at === null ? null : await appendReached(tx, reached, row);
  return { goal: row, sequence: event?.sequence ?? null };
}

/** Gives an open goal another title and target. `reached` is the event that reports it, if it is reached by that. */
async function changeGoal(
  tx: Tx,
  id: string,
  { title, targetMinor }: Pick<NewGoal, 'title' | 'targetMinor'>,
  reached: PreparedEvent,
): Promise<Added | undefined> {
  const { creatorId, now } = reached;
  const { last_at } = await lockHead(tx, creatorId);
  const changed = await tx.get<GoalRow>(
    `UPDATE goals SET title = $3, target_minor = $4
     WHERE creator_id = $1 AND id = $2 AND (ends_at IS NULL OR ends_at > $5) RETURNING ${goalColumns}`,
    [creatorId, id, title, targetMinor, now],
  );
  if (!changed) return undefined;
  if (changed.reached_at !== null || changed.raised_minor < targetMinor) return { goal: changed, sequence: null };
  const goal: GoalRow = { ...changed, reached_at: Math.max(now, last_at) };
  await tx.run('UPDATE goals SET reached_at = $3 WHERE creator_id = $1 AND id = $2', [creatorId, id, goal.reached_at]);
  return { goal, sequence: (await appendReached(tx, reached, goal)).sequence };
}

/** Ends a goal that has begun. No tip so far is lost to it. Returns whether it was open. */
async function endGoal(tx: Tx, creatorId: string, id: string, now: number): Promise<boolean> {
  const { last_at } = await lockHead(tx, creatorId);
  const changed = await tx.run(
    `UPDATE goals SET ends_at = $3
     WHERE creator_id = $1 AND id = $2 AND starts_at < $3 AND (ends_at IS NULL OR ends_at > $3)`,
    [creatorId, id, Math.max(now, last_at + 1)],
  );
  await setGoalsUntil(tx, creatorId);
  return changed > 0;
}

async function deleteGoal(tx: Tx, creatorId: string, id: string): Promise<boolean> {
  await lockHead(tx, creatorId);
  const deleted = await tx.run('DELETE FROM goals WHERE creator_id = $1 AND id = $2', [creatorId, id]);
  await setGoalsUntil(tx, creatorId);
  return deleted > 0;
}

async function setGoalsUntil(tx: Tx, creatorId: string): Promise<void> {
  await tx.run(
    `UPDATE creator_heads SET goals_until =
       COALESCE((SELECT MAX(COALESCE(ends_at, ${endOfTime})) FROM goals WHERE goals.creator_id = $1), 0)
     WHERE creator_id = $1`,
    [creatorId],
  );
}

async function sumOf(tx: Tx, creatorId: string, from: number, before: number): Promise<number> {
  const row = await tx.get<{ minor: number }>(
    `SELECT CAST(COALESCE(SUM(amount_minor), 0) AS BIGINT) AS minor FROM tips
     WHERE creator_id = $1 AND created_at >= $2 AND created_at < $3 AND voided_at IS NULL`,
    [creatorId, from, before],
  );
  return row?.minor ?? 0;
}

async function deleteOldest(tx: Tx, creatorId: string, now: number, kept: number): Promise<void> {
  await tx.run(
    `DELETE FROM goals WHERE creator_id = $1 AND id IN
       (SELECT id FROM goals WHERE creator_id = $1 AND ends_at <= $2 ORDER BY ends_at DESC, id DESC LIMIT 1000 OFFSET $3)`,
    [creatorId, now, kept],
  );
}

export const writes = defineWrites(import.meta.url, { addGoal, changeGoal, endGoal, deleteGoal });

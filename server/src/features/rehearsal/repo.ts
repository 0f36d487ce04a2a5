import { defineWrites, type Reader, type Tx } from '../../platform/db/database.ts';
import type { PreparedEvent } from '../events/index.ts';
import { replayAlert } from '../tips/index.ts';

/** `waiting` until a node plays it. `ended`: the node that played it went away. */
type RehearsalStatus = 'waiting' | 'playing' | 'finished' | 'stopped' | 'ended';

export interface RehearsalRow {
  creator_id: string;
  id: string;
  from_at: number;
  to_at: number;
  pace: number;
  status: RehearsalStatus;
  total: number;
  played: number;
  created_at: number;
  started_at: number | null;
  ended_at: number | null;
}

const columns = 'creator_id, id, from_at, to_at, pace, status, total, played, created_at, started_at, ended_at';
const active = `status IN ('waiting', 'playing')`;

export const isOver = ({ status }: Pick<RehearsalRow, 'status'>): boolean =>
  status !== 'waiting' && status !== 'playing';

/** The last rehearsal of a creator. */
export function rehearsalOf(db: Reader, creatorId: string): Promise<RehearsalRow | undefined> {
  return db.get<RehearsalRow>(`SELECT ${columns} FROM rehearsals WHERE creator_id = $1`, [creatorId]);
}

/** The rehearsals of all creators that wait or play. */
export function activeRehearsals(db: Reader): Promise<(RehearsalRow & { lease_until: number })[]> {
  return db.all(`SELECT ${columns}, lease_until FROM rehearsals WHERE ${active} ORDER BY created_at`);
}

export interface StepRow {
  n: number;
  tip_id: string;
  played_at: number;
}

export function stepsAfter(db: Reader, creatorId: string, after: number, limit: number): Promise<StepRow[]> {
  return db.all<StepRow>(
    'SELECT n, tip_id, played_at FROM rehearsal_steps WHERE creator_id = $1 AND n > $2 ORDER BY n LIMIT $3',
    [creatorId, after, limit],
  );
}

/** How many alerts of the rehearsal were played before that time. */
export async function playedBefore(db: Reader, creatorId: string, before: number): Promise<number> {
  const row = await db.get<{ n: number }>(
    'SELECT n FROM rehearsal_steps WHERE creator_id = $1 AND played_at < $2 ORDER BY n DESC LIMIT 1',
    [creatorId, before],
  );
  return row?.n ?? 0;
}

export type NewRehearsal = Pick<
  RehearsalRow,
  'creator_id' | 'id' | 'from_at' | 'to_at' | 'pace' | 'total' | 'created_at'
>;

/** Replaces the rehearsal before, unless that one is not over. Returns whether it did. */
async function insertRehearsal(tx: Tx, row: NewRehearsal, leaseUntil: number): Promise<boolean> {
  const inserted = await tx.run(
    `INSERT INTO rehearsals (creator_id, id, from_at, to_at, pace, status, total, played, lease_until, created_at)
     VALUES ($1, $2, $3, $4, $5, 'waiting', $6, 0, $7, $8)
     ON CONFLICT (creator_id) DO UPDATE SET id = excluded.id, from_at = excluded.from_at, to_at = excluded.to_at,
       pace = excluded.pace, status = excluded.status, total = excluded.total, played = 0, node_id = NULL,
       lease_until = excluded.lease_until, created_at = excluded.created_at, started_at = NULL, ended_at = NULL
     WHERE rehearsals.status NOT IN ('waiting', 'playing') OR rehearsals.lease_until < $8`,
    [row.creator_id, row.id, row.from_at, row.to_at, row.pace, row.total, leaseUntil, row.created_at],
  );
  if (inserted === 0) return false;
  await tx.run('DELETE FROM rehearsal_steps WHERE creator_id = $1', [row.creator_id]);
  return true;
}

/** A rehearsal of a node. */
export interface Playing {
  readonly creatorId: string;
  readonly id: string;
  readonly nodeId: string;
}

/** Of several nodes that want to play a rehearsal, one does. */
async function take(
  tx: Tx,
  { creatorId, id, nodeId }: Playing,
  startedAt: number,
  now: number,
  leaseUntil: number,
): Promise<boolean> {
  const taken = await tx.run(
    `UPDATE rehearsals SET status = 'playing', node_id = $3, started_at = $4, lease_until = $5
     WHERE creator_id = $1 AND id = $2 AND status = 'waiting' AND lease_until >= $6`,
    [creatorId, id, nodeId, startedAt, leaseUntil, now],
  );
  return taken > 0;
}

const isPlaying = `creator_id = $1 AND id = $2 AND node_id = $3 AND status = 'playing'
  AND creator_id IN (SELECT creators.id FROM creators WHERE suspended_at IS NULL)`;

/** Returns whether the rehearsal still plays. */
async function renew(tx: Tx, { creatorId, id, nodeId }: Playing, leaseUntil: number): Promise<boolean> {
  const renewed = await tx.run(`UPDATE rehearsals SET lease_until = $4 WHERE ${isPlaying}`, [
    creatorId,
    id,
    nodeId,
    leaseUntil,
  ]);
  return renewed > 0;
}

/** So many steps are kept: a page that is further behind does without the ones before. */
const keptSteps = 1000;

/** Alerts that are due. `event`: what the log gets, of sandbox creators only. */
interface DueAlert {
  readonly tipId: string;
  readonly event: PreparedEvent | null;
}

/** Plays alerts, if the rehearsal still plays. Returns the newest sequence of the log, if it got something. */
async function step(
  tx: Tx,
  { creatorId, id, nodeId }: Playing,
  alerts: readonly DueAlert[],
  now: number,
  leaseUntil: number,
): Promise<{ sequence: number | null } | null> {
  const row = await tx.get<{ played: number }>(
    `UPDATE rehearsals SET played = played + $4, lease_until = $5 WHERE ${isPlaying} RETURNING played`,
    [creatorId, id, nodeId, alerts.length, leaseUntil],
  );
  if (!row) return null;
  let sequence: number | null = null;
  for (const [index, { tipId, event }] of alerts.entries()) {
    const n = row.played - alerts.length + index + 1;
    await tx.run('INSERT INTO rehearsal_steps (creator_id, n, tip_id, played_at) VALUES ($1, $2, $3, $4)', [
      creatorId,
      n,
      tipId,
      now,
    ]);
    if (event) sequence = (await replayAlert(tx, event, tipId)) ?? sequence;
  }
  await tx.run('DELETE FROM rehearsal_steps WHERE creator_id = $1 AND n <= $2', [creatorId, row.played - keptSteps]);
  return { sequence };
}

/** Returns whether the rehearsal was not over. With `nodeId`, only if that node plays it. */
async function end(
  tx: Tx,
  { creatorId, id, nodeId }: Omit<Playing, 'nodeId'> & { readonly nodeId: string | null },
  status: 'finished' | 'stopped',
  now: number,
): Promise<boolean> {
  const ended = await tx.run(
    `UPDATE rehearsals SET status = $3, ended_at = $4
     WHERE creator_id = $1 AND id = $2 AND ${active} AND COALESCE(node_id, '') = COALESCE($5, node_id, '')`,
    [creatorId, id, status, now, nodeId],
  );
  return ended > 0;
}

/** Ends rehearsals whose lease has run out. Returns their creators. */
async function endExpired(tx: Tx, now: number): Promise<string[]> {
  const rows = await tx.all<{ creator_id: string }>(
    `UPDATE rehearsals SET status = 'ended', ended_at = $1 WHERE ${active} AND lease_until < $1 RETURNING creator_id`,
    [now],
  );
  return rows.map(({ creator_id }) => creator_id);
}

/** Ends what a node plays, or with `null` what any node does. Returns the creators. */
async function endPlaying(tx: Tx, nodeId: string | null, now: number): Promise<string[]> {
  const rows = await tx.all<{ creator_id: string }>(
    `UPDATE rehearsals SET status = 'ended', ended_at = $2
     WHERE status = 'playing' AND node_id = COALESCE($1, node_id) RETURNING creator_id`,
    [nodeId, now],
  );
  return rows.map(({ creator_id }) => creator_id);
}

export const writes = defineWrites(import.meta.url, {
  insertRehearsal,
  take,
  renew,
  step,
  end,
  endExpired,
  endPlaying,
});

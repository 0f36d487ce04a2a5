import { defineWrites, type Reader, type Sql, type Tx } from '../../../platform/db/database.ts';
import { setGrantPaused } from '../../oauth/index.ts';
import { type Channel, type ChaosKind, type Draw, decide, type Shares } from './decide.ts';
import type { RunName } from './runs.ts';

/** Chaos is always of one sandbox creator for one app. */
export interface Pair {
  readonly creatorId: string;
  readonly clientId: string;
}

export interface ChaosRow {
  creator_id: string;
  client_id: string;
  seed: string;
  /** JSON of `Shares`. */
  shares: string;
  enabled: number;
  run: RunName | null;
  calls: number;
  frames: number;
  deliveries: number;
  faults: number;
  /** How many sockets and streams were opened with a position. */
  resumed: number;
  revoked_at: number | null;
  started_at: number;
  stopped_at: number | null;
  /** JSON of the last run's report. */
  report: string | null;
}

export interface FaultRow {
  number: number;
  n: number;
  kind: ChaosKind;
  at: number;
  /** What it happened to: a method and route, an event's id, a delivery's id. */
  subject: string;
  request_id: string | null;
  key: string | null;
  repeated_n: number | null;
  tip_id: string | null;
}

const columns =
  'creator_id, client_id, seed, shares, enabled, run, calls, frames, deliveries, faults, resumed, revoked_at, started_at, stopped_at, report';

export function chaosOf(db: Reader, { creatorId, clientId }: Pair): Promise<ChaosRow | undefined> {
  return db.get<ChaosRow>(`SELECT ${columns} FROM chaos WHERE creator_id = $1 AND client_id = $2`, [
    creatorId,
    clientId,
  ]);
}

export function chaosOfCreator(db: Reader, creatorId: string): Promise<ChaosRow[]> {
  return db.all<ChaosRow>(`SELECT ${columns} FROM chaos WHERE creator_id = $1`, [creatorId]);
}

/** The app of a webhook endpoint; nothing if the endpoint was removed. Not called for connections of creators. */
export async function appOfEndpoint(db: Reader, endpointId: string): Promise<string | undefined> {
  const row = await db.get<{ client_id: string }>('SELECT client_id FROM webhook_endpoints WHERE id = $1', [
    endpointId,
  ]);
  return row?.client_id;
}

/** Newest first. */
export function faultsOf(db: Reader, { creatorId, clientId }: Pair, limit: number): Promise<FaultRow[]> {
  return db.all<FaultRow>(
    `SELECT number, n, kind, at, subject, request_id, key, repeated_n, tip_id FROM chaos_faults
     WHERE creator_id = $1 AND client_id = $2 ORDER BY number DESC LIMIT $3`,
    [creatorId, clientId, limit],
  );
}

/** So many of the newest faults are kept for each pair. */
export const mostFaults = 2_000;

/** A call, frames or a delivery that is counted, with what the list of faults shows of it. */
export interface Counting extends Pair {
  readonly channel: Channel;
  /** How many at once: the events that one write has sent to a socket. */
  readonly amount: number;
  /** A socket or stream was opened with a position. */
  readonly resumed?: boolean;
  readonly subject: string;
  readonly requestId: string | null;
  readonly key: string | null;
  /** Of a call: when its token was issued. */
  readonly tokenAt?: number;
  readonly at: number;
}

/** The fault of the first of those counted that has one. */
export interface Fault extends Draw {
  readonly n: number;
  readonly number: number;
}

const countSql = (column: 'calls' | 'frames' | 'deliveries'): string =>
  `UPDATE chaos SET ${column} = ${column} + $3, resumed = resumed + $4 WHERE creator_id = $1 AND client_id = $2 AND enabled = 1
   RETURNING ${column} AS n, seed, shares, revoked_at`;

const countSqls: Readonly<Record<Channel, Sql>> = {
  call: countSql('calls'),
  frame: countSql('frames'),
  delivery: countSql('deliveries'),
};

/**
 * Counts, decides and lists the fault, in one write: the row's lock puts concurrent calls in an order, over all nodes.
 * Returns nothing if chaos is off or nothing happens.
 */
async function count(tx: Tx, counting: Counting): Promise<Fault | undefined> {
  const { creatorId, clientId, channel, amount, key } = counting;
  const resumed = counting.resumed ? 1 : 0;
  const row = await tx.get<{ n: number; seed: string; shares: string; revoked_at: number | null }>(countSqls[channel], [
    creatorId,
    clientId,
    amount,
    resumed,
  ]);
  if (key !== null) await markRepeated(tx, counting, key, row?.n ?? null);
  if (!row) return undefined;
  const found = firstFault(row, channel, amount);
  if (!found) return undefined;
  if (found.kind === 'revoked') {
    await tx.run('UPDATE chaos SET revoked_at = $3 WHERE creator_id = $1 AND client_id = $2 AND revoked_at IS NULL', [
      creatorId,
      clientId,
      counting.at,
    ]);
    // At each call: the app may have been connected anew meanwhile.
    await setGrantPaused(tx, creatorId, clientId, counting.at);
  }
  return { ...found, number: await addFault(tx, counting, found) };
}

/**
 * A call with the key of a refused one came, also after chaos was switched off. After `token_expired` it counts only with a
 * token that was issued since.
 */
async function markRepeated(tx: Tx, counting: Counting, key: string, n: number | null): Promise<void> {
  const { creatorId, clientId, subject, tokenAt = counting.at } = counting;
  await tx.run(
    `UPDATE chaos_faults SET repeated_n = COALESCE($4, n) WHERE creator_id = $1 AND client_id = $2 AND key = $3
       AND subject = $5 AND repeated_n IS NULL AND (kind <> 'token_expired' OR at <= $6)`,
    [creatorId, clientId, key, n, subject, tokenAt],
  );
}

function firstFault(
  { n: last, seed, shares, revoked_at }: { n: number; seed: string; shares: string; revoked_at: number | null },
  channel: Channel,
  amount: number,
): Omit<Fault, 'number'> | undefined {
  if (channel === 'call' && revoked_at !== null) return { kind: 'revoked', size: 0, n: last };
  const parsed: Shares = JSON.parse(shares);
  for (let n = last - amount + 1; n <= last; n += 1) {
    const draw = decide(seed, parsed, channel, n);
    if (draw) return { ...draw, n };
  }
  return undefined;
}

async function addFault(tx: Tx, counting: Counting, { kind, n }: Omit<Fault, 'number'>): Promise<number> {
  const { creatorId, clientId, at, subject, requestId, key } = counting;
  const counted = await tx.get<{ number: number }>(
    'UPDATE chaos SET faults = faults + 1 WHERE creator_id = $1 AND client_id = $2 RETURNING faults AS number',
    [creatorId, clientId],
  );
  const number = counted?.number ?? 0;
  await tx.run(
    `INSERT INTO chaos_faults (creator_id, client_id, number, n, kind, at, subject, request_id, key)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [creatorId, clientId, number, n, kind, at, subject, requestId, key],
  );
  await tx.run('DELETE FROM chaos_faults WHERE creator_id = $1 AND client_id = $2 AND number <= $3', [
    creatorId,
    clientId,
    number - mostFaults,
  ]);
  return number;
}

/** A call has recorded a tip, although chaos replaced its answer. */
async function addTip(tx: Tx, { creatorId, clientId }: Pair, number: number, tipId: string): Promise<void> {
  await tx.run('UPDATE chaos_faults SET tip_id = $4 WHERE creator_id = $1 AND client_id = $2 AND number = $3', [
    creatorId,
    clientId,
    number,
    tipId,
  ]);
}

/** Whether a delivery was late before: it is then sent without being counted again. */
export async function wasLate(db: Reader, { creatorId, clientId }: Pair, subject: string): Promise<boolean> {
  const row = await db.get(
    `SELECT number FROM chaos_faults WHERE creator_id = $1 AND client_id = $2 AND kind = 'webhook_late' AND subject = $3`,
    [creatorId, clientId, subject],
  );
  return row !== undefined;
}

interface NewSettings extends Pair {
  readonly seed: string;
  readonly shares: string;
  readonly run: RunName | null;
  readonly at: number;
}

/** Counts start anew, and the list of faults with them. */
async function save(tx: Tx, { creatorId, clientId, seed, shares, run, at }: NewSettings): Promise<void> {
  await setGrantPaused(tx, creatorId, clientId, null);
  await tx.run('DELETE FROM chaos_faults WHERE creator_id = $1 AND client_id = $2', [creatorId, clientId]);
  await tx.run(
    `INSERT INTO chaos (creator_id, client_id, seed, shares, enabled, run, calls, frames, deliveries, faults, resumed, started_at)
     VALUES ($1, $2, $3, $4, 1, $5, 0, 0, 0, 0, 0, $6)
     ON CONFLICT (creator_id, client_id) DO UPDATE SET seed = excluded.seed, shares = excluded.shares, enabled = 1,
       run = excluded.run, calls = 0, frames = 0, deliveries = 0, faults = 0, resumed = 0, revoked_at = NULL,
       started_at = excluded.started_at, stopped_at = NULL, report = NULL`,
    [creatorId, clientId, seed, shares, run, at],
  );
}

/** Returns whether chaos was on. */
async function stop(tx: Tx, { creatorId, clientId }: Pair, at: number): Promise<boolean> {
  const stopped = await tx.run(
    `UPDATE chaos SET enabled = 0, revoked_at = NULL, stopped_at = $3
     WHERE creator_id = $1 AND client_id = $2 AND enabled = 1`,
    [creatorId, clientId, at],
  );
  if (stopped > 0) await setGrantPaused(tx, creatorId, clientId, null);
  return stopped > 0;
}

async function setReport(tx: Tx, { creatorId, clientId }: Pair, startedAt: number, report: string): Promise<void> {
  await tx.run('UPDATE chaos SET report = $4 WHERE creator_id = $1 AND client_id = $2 AND started_at = $3', [
    creatorId,
    clientId,
    startedAt,
    report,
  ]);
}

/** Deletes up to `limit` faults from before this time. Returns how many. */
function deleteFaultsBefore(tx: Tx, before: number, limit: number): Promise<number> {
  return tx.run(
    `DELETE FROM chaos_faults WHERE (creator_id, client_id, number) IN
       (SELECT creator_id, client_id, number FROM chaos_faults WHERE at < $1 ORDER BY at LIMIT $2)`,
    [before, limit],
  );
}

/** Chaos of apps that have been deleted. */
async function deleteOfDeletedApps(tx: Tx): Promise<void> {
  await tx.run(
    `DELETE FROM chaos WHERE NOT EXISTS (SELECT 1 FROM apps a WHERE a.id = chaos.client_id AND a.deleted_at IS NULL)`,
  );
}

export const writes = defineWrites(import.meta.url, {
  count,
  addTip,
  save,
  stop,
  setReport,
  deleteFaultsBefore,
  deleteOfDeletedApps,
});

import { toTimestamp, toTimestampOrNull } from '../../platform/clock.ts';
import { defineWrites, type PostgresStatement, type Reader, type Tx } from '../../platform/db/database.ts';
import { appendEvent, appendParams, appendSql, type EventPosition, type PreparedEvent } from '../events/index.ts';
import type { Range } from './range.ts';
import type { AlertStatus, Tip } from './schemas.ts';

export interface TipRow {
  id: string;
  sequence: number;
  amount_minor: number;
  name: string;
  display_name: string | null;
  message: string | null;
  client_id: string | null;
  app_name: string | null;
  alert_status: AlertStatus;
  alert_shown_at: number | null;
  created_at: number;
}

const columns =
  'id, sequence, amount_minor, name, display_name, message, client_id, app_name, alert_status, alert_shown_at, created_at';

export function tipById(db: Reader, creatorId: string, id: string): Promise<TipRow | undefined> {
  return db.get<TipRow>(`SELECT ${columns} FROM tips WHERE creator_id = $1 AND id = $2`, [creatorId, id]);
}

/** Later than every instant. */
const endOfTime = 9_007_199_254_740_991;

const pageSql = `
SELECT ${columns} FROM tips
WHERE creator_id = $1 AND created_at >= $2 AND (created_at, sequence) < ($3, $4) AND sequence < $4
ORDER BY created_at DESC, sequence DESC LIMIT $5`;

/**
 * Newest first. Time never runs backwards along the sequence, so (created_at, sequence) is the order of
 * recording, and one index serves the whole history, its bounds and every page of it. `sequence` alone is compared too
 * for a cursor that points to a time from before a repair of the clock.
 */
export function tipsPage(
  db: Reader,
  creatorId: string,
  { from, to }: Range,
  before: EventPosition | null,
  limit: number,
): Promise<TipRow[]> {
  const start = before ?? { createdAt: to ?? endOfTime, sequence: endOfTime };
  return db.all<TipRow>(pageSql, [creatorId, from ?? 0, start.createdAt, start.sequence, limit]);
}

const pieceSql = `
SELECT CAST(COALESCE(SUM(amount_minor), 0) AS BIGINT) AS "totalMinor", COUNT(*) AS count,
  COALESCE(MAX(created_at), 0) AS "createdAt", COALESCE(MAX(sequence), 0) AS sequence
FROM (SELECT amount_minor, created_at, sequence FROM tips
  WHERE creator_id = $1 AND (created_at, sequence) > ($2, $3) AND created_at < $4
  ORDER BY created_at, sequence LIMIT $5) AS piece`;

/**
 * The total of up to `limit` tips after a position and before an instant, and the position of the last of them. By
 * `all`: PostgreSQL batches `get`, and this statement may be slow.
 */
export async function sumPiece(
  db: Reader,
  creatorId: string,
  after: EventPosition,
  before: number,
  limit: number,
): Promise<{ totalMinor: number; count: number } & EventPosition> {
  const [sum] = await db.all<{ totalMinor: number; count: number } & EventPosition>(pieceSql, [
    creatorId,
    after.createdAt,
    after.sequence,
    before,
    limit,
  ]);
  return sum ?? { totalMinor: 0, count: 0, ...after };
}

/** Every status but `queued` is final: this update decides which of several settlements counts. */
export async function settleAlert(
  tx: Tx,
  creatorId: string,
  tipId: string,
  status: Exclude<AlertStatus, 'queued'>,
  shownAt: number | null,
): Promise<boolean> {
  const changed = await tx.run(
    `UPDATE tips SET alert_status = $3, alert_shown_at = $4
     WHERE creator_id = $1 AND id = $2 AND alert_status = 'queued'`,
    [creatorId, tipId, status, shownAt],
  );
  return changed > 0;
}

/**
 * Expires the queued alerts of [from, before), reading about `limit` tips. Returns the instant up to which all are
 * expired.
 */
export async function expireAlerts(
  tx: Tx,
  creatorId: string,
  from: number,
  before: number,
  limit: number,
): Promise<number> {
  const next = await tx.get<{ created_at: number }>(
    `SELECT created_at FROM tips WHERE creator_id = $1 AND created_at >= $2 AND created_at < $3
     ORDER BY created_at, sequence LIMIT 1 OFFSET CAST($4 AS BIGINT)`,
    [creatorId, from, before, limit],
  );
  // Beyond `from` even if more tips than `limit` have this very time.
  const until = next ? Math.max(next.created_at, from + 1) : before;
  await tx.run(
    `UPDATE tips SET alert_status = 'expired'
     WHERE creator_id = $1 AND created_at >= $2 AND created_at < $3 AND alert_status = 'queued'`,
    [creatorId, from, until],
  );
  return until;
}

/** Whether the alert of a tip of [from, before) is queued. */
export async function anyQueued(db: Reader, creatorId: string, from: number, before: number): Promise<boolean> {
  const row = await db.get(
    `SELECT 1 AS found FROM tips
     WHERE creator_id = $1 AND created_at >= $2 AND created_at < $3 AND alert_status = 'queued' LIMIT 1`,
    [creatorId, from, before],
  );
  return row !== undefined;
}

export function newestBefore(db: Reader, creatorId: string, before: number) {
  return db.get<{ sequence: number }>(
    `SELECT sequence FROM tips WHERE creator_id = $1 AND created_at < $2
     ORDER BY created_at DESC, sequence DESC LIMIT 1`,
    [creatorId, before],
  );
}

/** Up to `limit` tips whose alert was skipped, the newest. */
export function skippedSince(db: Reader, creatorId: string, since: number, limit: number): Promise<{ id: string }[]> {
  return db.all<{ id: string }>(
    `SELECT id FROM tips WHERE creator_id = $1 AND created_at >= $2 AND alert_status = 'skipped'
     ORDER BY created_at DESC LIMIT $3`,
    [creatorId, since, limit],
  );
}

export interface NewKey {
  readonly clientId: string;
  readonly key: string;
  readonly fingerprint: string;
  readonly now: number;
  /** An earlier use at or before this instant has expired. */
  readonly staleBefore: number;
}

export type NewTipRow = Omit<TipRow, 'sequence' | 'created_at' | 'alert_status' | 'alert_shown_at'>;

/** `json` is the tip as its event carries it. */
type Recorded = { readonly sequence: number; readonly json: string };

/** The key was used before. `body` is the event of that first request. */
type FirstUse = { readonly fingerprint: string; readonly body: string };

/** Claims the idempotency key, if there is one, and records the tip with its event; or returns the key's first use. */
async function recordTip(
  tx: Tx,
  event: PreparedEvent,
  tip: NewTipRow,
  key: NewKey | null,
): Promise<Recorded | FirstUse> {
  const { creatorId } = event;
  if (key && !(await claimKey(tx, creatorId, tip.id, key))) return firstUse(tx, creatorId, key);
  let json = '';
  const { sequence, createdAt } = await appendEvent(tx, event, (position) => {
    json = newTipJson(tip, position.createdAt);
    return `{"tip":${json}}`;
  });
  const { id, amount_minor, name, display_name, message, client_id, app_name } = tip;
  await tx.run(
    `INSERT INTO tips (creator_id, sequence, created_at, id, amount_minor, name, display_name, message, client_id, app_name)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
    [creatorId, sequence, createdAt, id, amount_minor, name, display_name, message, client_id, app_name],
  );
  return { sequence, json };
}

const claimKeySql = (values: string, staleBefore: string): string =>
  `INSERT INTO idempotency_keys (creator_id, client_id, key, fingerprint, tip_id, created_at) ${values}
   ON CONFLICT (creator_id, client_id, key) DO UPDATE
     SET fingerprint = excluded.fingerprint, tip_id = excluded.tip_id, created_at = excluded.created_at
     WHERE idempotency_keys.created_at <= ${staleBefore}`;

const claimKeyStatement = claimKeySql('VALUES ($1, $2, $3, $4, $5, $6)', '$7');

/** Claims an idempotency key unless an unexpired use of it exists. Returns whether it was claimed. */
async function claimKey(tx: Tx, creatorId: string, tipId: string, key: NewKey): Promise<boolean> {
  const { clientId, fingerprint, now, staleBefore } = key;
  return (await tx.run(claimKeyStatement, [creatorId, clientId, key.key, fingerprint, tipId, now, staleBefore])) > 0;
}

async function firstUse(db: Reader, creatorId: string, { clientId, key }: NewKey): Promise<FirstUse> {
  const first = await db.get<FirstUse>(
    `SELECT k.fingerprint, e.body FROM idempotency_keys k
     JOIN tips t ON t.creator_id = k.creator_id AND t.id = k.tip_id
     JOIN events e ON e.creator_id = t.creator_id AND e.sequence = t.sequence
     WHERE k.creator_id = $1 AND k.client_id = $2 AND k.key = $3`,
    [creatorId, clientId, key],
  );
  if (!first) throw new Error(`creator ${creatorId} has a key without its tip`);
  return first;
}

const insertTipFromHead = `
tip AS (
  INSERT INTO tips (creator_id, sequence, created_at, id, amount_minor, name, display_name, message, client_id, app_name)
  SELECT $1, sequence, last_at, $12, $4, $13, $14, $15, $16, $17 FROM head
)
SELECT sequence, last_at FROM head`;

const recordSql = `WITH ${appendSql('TRUE')}, ${insertTipFromHead}`;
// The creator's row is locked before the key. A request that cannot claim the key gets no position: the statement then
// writes nothing and returns no row, and `recordTip` returns the first use.
const recordWithKeySql = `
WITH own AS (SELECT creator_id FROM creator_heads WHERE creator_id = $1 FOR UPDATE),
claimed AS (${claimKeySql('SELECT creator_id, $16, $18, $19, $12, $2 FROM own', '$20')} RETURNING tip_id),
${appendSql('EXISTS (SELECT tip_id FROM claimed)')}, ${insertTipFromHead}`;

/** `recordTip` as one statement, so that no round trip happens while the creator's row is locked. */
const recordTipStatement: PostgresStatement<[PreparedEvent, NewTipRow, NewKey | null], Recorded | FirstUse> = {
  statement(event, tip, key) {
    const [beforeTime, afterTime] = splitAtTime(newTipJson(tip, 0));
    const params = [
      ...appendParams(event, [`{"tip":${beforeTime}`, `${afterTime}}`]),
      ...[tip.id, tip.name, tip.display_name, tip.message, tip.client_id, tip.app_name],
    ];
    return key
      ? {
          owner: event.creatorId,
          sql: recordWithKeySql,
          params: [...params, key.key, key.fingerprint, key.staleBefore],
        }
      : { owner: event.creatorId, sql: recordSql, params };
  },
  answer({ sequence, last_at }: { sequence: number; last_at: number }, _event, tip) {
    return { sequence, json: newTipJson(tip, last_at) };
  },
};

/** A tip as the API shows it. `created_at` is the last field (`splitAtTime`). */
export function toTip(row: Omit<TipRow, 'sequence'>): Tip {
  return {
    id: row.id,
    amount: row.amount_minor / 100,
    amount_minor: row.amount_minor,
    currency: 'THB',
    name: row.name,
    display_name: row.display_name,
    message: row.message,
    source: { type: row.client_id === null ? 'cli' : 'api', client_id: row.client_id, app_name: row.app_name },
    alert: { status: row.alert_status, shown_at: toTimestampOrNull(row.alert_shown_at) },
    created_at: toTimestamp(row.created_at),
  };
}

const newTipJson = (tip: NewTipRow, created_at: number): string =>
  JSON.stringify(toTip({ ...tip, alert_status: 'queued', alert_shown_at: null, created_at }));

/** A new tip's JSON before and after the value of `created_at`. */
function splitAtTime(json: string): readonly [string, string] {
  const field = '"created_at":"';
  return [json.slice(0, json.lastIndexOf(field) + field.length), '"}'];
}

function deleteKeysBefore(tx: Tx, before: number, limit: number): Promise<number> {
  return tx.run(
    `DELETE FROM idempotency_keys WHERE (creator_id, client_id, key) IN
       (SELECT creator_id, client_id, key FROM idempotency_keys WHERE created_at <= $1 ORDER BY created_at LIMIT $2)`,
    [before, limit],
  );
}

export const writes = defineWrites(import.meta.url, { recordTip, deleteKeysBefore }, { recordTip: recordTipStatement });

import { endOfTime, toTimestamp, toTimestampOrNull } from '../../platform/clock.ts';
import { defineWrites, type PostgresStatement, type Reader, type Tx, type Value } from '../../platform/db/database.ts';
import {
  addToGoals,
  appendParams,
  appendScreened,
  appendSql,
  type EventPosition,
  type PreparedEvent,
} from '../events/index.ts';
import { listed } from './listed.ts';
import type { Selection } from './range.ts';
import type { AlertStatus, HoldReason, Tip } from './schemas.ts';

export interface TipRow {
  id: string;
  sequence: number;
  amount_minor: number;
  name: string;
  display_name: string | null;
  message: string | null;
  client_id: string | null;
  app_name: string | null;
  by_creator: number;
  alert_status: AlertStatus;
  alert_shown_at: number | null;
  /** `null`: name and message are shown as they were sent. */
  alert_name: string | null;
  alert_message: string | null;
  voided_at: number | null;
  void_reason: string | null;
  created_at: number;
}

/** The columns of a `TipRow`. */
export const columns =
  'id, sequence, amount_minor, name, display_name, message, client_id, app_name, by_creator, ' +
  'alert_status, alert_shown_at, alert_name, alert_message, voided_at, void_reason, created_at';

export function tipById(db: Reader, creatorId: string, id: string): Promise<TipRow | undefined> {
  return db.get<TipRow>(`SELECT ${columns} FROM tips WHERE creator_id = $1 AND id = $2`, [creatorId, id]);
}

/** The creator of a tip. */
export function creatorOfTip(db: Reader, id: string): Promise<{ creator_id: string } | undefined> {
  return db.get<{ creator_id: string }>('SELECT creator_id FROM tips WHERE id = $1', [id]);
}

const pageSql = (condition: string): string => `
SELECT ${columns} FROM tips
WHERE creator_id = $1 AND created_at >= $2 AND (created_at, sequence) < ($3, $4) AND sequence < $4${condition}
ORDER BY created_at DESC, sequence DESC LIMIT $5`;

/** Voided tips have an index of their own. */
const pages = { all: pageSql(''), voided: pageSql(' AND voided_at IS NOT NULL') };

/**
 * Newest first. Time never runs backwards along the sequence, so (created_at, sequence) is the order of
 * recording, and one index serves the whole history, its bounds and every page of it. `sequence` alone is compared too
 * for a cursor that points to a time from before a repair of the clock. Of `recorded` tips the voided ones between them are
 * read too: no index leaves them out, and one statement would pass over any number of them.
 */
export function tipsPage(
  db: Reader,
  creatorId: string,
  { from, to, status }: Selection,
  before: EventPosition | null,
  limit: number,
): Promise<TipRow[]> {
  const start = before ?? { createdAt: to ?? endOfTime, sequence: Number.MAX_SAFE_INTEGER };
  return db.all<TipRow>(pages[status === 'voided' ? status : 'all'], [
    creatorId,
    from ?? 0,
    start.createdAt,
    start.sequence,
    limit,
  ]);
}

/** Whether a tip that `tipsPage` has read is one of the selection. */
export const isSelected = (row: TipRow, { status }: Selection): boolean =>
  status !== 'recorded' || row.voided_at === null;

/** The newest of a creator's last `searched` tips that may stand in public lists. */
export function latestListed(db: Reader, creatorId: string, limit: number, searched: number): Promise<TipRow[]> {
  return db.all<TipRow>(
    `SELECT ${columns} FROM tips
     WHERE creator_id = $1 AND ${listed} AND created_at >= COALESCE(
       (SELECT created_at FROM tips WHERE creator_id = $1 ORDER BY created_at DESC, sequence DESC LIMIT 1 OFFSET $3), 0)
     ORDER BY created_at DESC, sequence DESC LIMIT $2`,
    [creatorId, limit, searched - 1],
  );
}

export function newestBefore(db: Reader, creatorId: string, before: number) {
  return db.get<{ sequence: number }>(
    `SELECT sequence FROM tips WHERE creator_id = $1 AND created_at < $2
     ORDER BY created_at DESC, sequence DESC LIMIT 1`,
    [creatorId, before],
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

export interface NewTipRow
  extends Omit<TipRow, 'sequence' | 'created_at' | 'alert_shown_at' | 'voided_at' | 'void_reason'> {
  /** Why it is blocked or held. */
  readonly alert_reason: 'blocked' | HoldReason | null;
  readonly request_id: string | null;
}

/** `json` is the tip as its event carries it. */
type Recorded = { readonly sequence: number; readonly json: string };

/** The key was used before. `body` is the event of that first request. */
type FirstUse = { readonly fingerprint: string; readonly body: string };

/** The screening rules are not those by which the tip was screened. Nothing is recorded. */
type RulesChanged = 'rules_changed';

/**
 * Claims the idempotency key, if there is one, and records the tip with its event; or returns the key's first use. The
 * tip was screened by rules of `rulesVersion`.
 */
async function recordTip(
  tx: Tx,
  event: PreparedEvent,
  tip: NewTipRow,
  key: NewKey | null,
  rulesVersion: number,
): Promise<Recorded | FirstUse | RulesChanged> {
  const { creatorId } = event;
  if (key && !(await claimKey(tx, creatorId, tip.id, key))) return firstUse(tx, creatorId, key);
  let json = '';
  const position = await appendScreened(tx, event, rulesVersion, ({ createdAt }) => {
    json = newTipJson(tip, createdAt);
    return `{"tip":${json}}`;
  });
  if (!position) {
    if (key) await releaseKey(tx, creatorId, tip.id, key);
    return 'rules_changed';
  }
  const { sequence, createdAt } = position;
  await tx.run(
    `INSERT INTO tips (creator_id, sequence, created_at, amount_minor, ${newColumns})
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`,
    [creatorId, sequence, createdAt, tip.amount_minor, ...newValues(tip)],
  );
  await addToGoals(tx, event, position);
  return { sequence, json };
}

const newColumns =
  'id, name, display_name, message, client_id, app_name, by_creator, alert_status, alert_name, alert_message, alert_reason, request_id';

/** In the order of `newColumns`. */
const newValues = (tip: NewTipRow): Value[] => [
  ...[tip.id, tip.name, tip.display_name, tip.message, tip.client_id, tip.app_name, tip.by_creator],
  ...[tip.alert_status, tip.alert_name, tip.alert_message, tip.alert_reason, tip.request_id],
];

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

/** Undoes `claimKey`: a refused tip leaves nothing behind. */
async function releaseKey(tx: Tx, creatorId: string, tipId: string, { clientId, key }: NewKey): Promise<void> {
  await tx.run('DELETE FROM idempotency_keys WHERE creator_id = $1 AND client_id = $2 AND key = $3 AND tip_id = $4', [
    creatorId,
    clientId,
    key,
    tipId,
  ]);
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
  INSERT INTO tips (creator_id, sequence, created_at, amount_minor, ${newColumns})
  SELECT $1, sequence, last_at, $4, $14, $15, $16, $17, $18, $19, CAST($20 AS BIGINT), $21, $22, $23, $24, $25 FROM head
)
SELECT sequence, last_at FROM head`;

/**
 * A tip that goals may count is left to `recordTip`, because the statement could not see a goal that is being made. So is
 * one that was screened by other rules.
 */
const mayRecord = (rulesVersion: string): string => `goals_until <= $2 AND screening_version = ${rulesVersion}`;

const recordSql = `WITH ${appendSql(mayRecord('$26'))}, ${insertTipFromHead}`;
// The creator's row is locked before the key. A request that cannot claim the key gets no position: the statement then
// writes nothing and returns no row, and `recordTip` returns the first use.
const recordWithKeySql = `
WITH own AS (SELECT creator_id FROM creator_heads WHERE creator_id = $1 AND ${mayRecord('$30')} FOR UPDATE),
claimed AS (${claimKeySql('SELECT creator_id, $26, $27, $28, $14, $2 FROM own', '$29')} RETURNING tip_id),
${appendSql('EXISTS (SELECT tip_id FROM claimed)')}, ${insertTipFromHead}`;

/** `recordTip` as one statement, so that no round trip happens while the creator's row is locked. */
const recordTipStatement: PostgresStatement<
  [PreparedEvent, NewTipRow, NewKey | null, number],
  Recorded | FirstUse | RulesChanged
> = {
  statement(event, tip, key, rulesVersion) {
    const [beforeTime, afterTime] = splitAtTime(newTipJson(tip, 0));
    const params = [...appendParams(event, [`{"tip":${beforeTime}`, `${afterTime}}`]), ...newValues(tip)];
    return key
      ? {
          owner: event.creatorId,
          sql: recordWithKeySql,
          params: [...params, key.clientId, key.key, key.fingerprint, key.staleBefore, rulesVersion],
        }
      : { owner: event.creatorId, sql: recordSql, params: [...params, rulesVersion] };
  },
  answer({ sequence, last_at }: { sequence: number; last_at: number }, _event, tip) {
    return { sequence, json: newTipJson(tip, last_at) };
  },
};

/** A tip as the API shows it. `created_at` is the last field (`splitAtTime`). */
export function toTip(row: Omit<TipRow, 'sequence'>): Tip {
  return {
    id: row.id,
    status: row.voided_at === null ? 'recorded' : 'voided',
    amount: row.amount_minor / 100,
    amount_minor: row.amount_minor,
    currency: 'THB',
    name: row.name,
    display_name: row.display_name,
    message: row.message,
    source: { type: sourceType(row), client_id: row.client_id, app_name: row.app_name },
    alert: {
      status: row.alert_status,
      shown_at: toTimestampOrNull(row.alert_shown_at),
      name: row.alert_name ?? row.display_name ?? row.name,
      message: row.alert_name === null ? row.message : row.alert_message,
    },
    voided_at: toTimestampOrNull(row.voided_at),
    void_reason: row.void_reason,
    created_at: toTimestamp(row.created_at),
  };
}

export const sourceType = (row: Pick<TipRow, 'client_id' | 'by_creator'>): Tip['source']['type'] =>
  row.client_id !== null ? 'api' : row.by_creator === 1 ? 'creator' : 'cli';

const unsettled = { alert_shown_at: null, voided_at: null, void_reason: null } as const;

const newTipJson = (tip: NewTipRow, created_at: number): string =>
  JSON.stringify(toTip({ ...tip, ...unsettled, created_at }));

/** A new tip's JSON before and after the value of `created_at`. */
function splitAtTime(json: string): readonly [string, string] {
  const field = '"created_at":"';
  return [json.slice(0, json.lastIndexOf(field) + field.length), '"}'];
}

/** On PostgreSQL a key may be used again once it was found: so its age is compared in the outer condition too. */
function deleteKeysBefore(tx: Tx, before: number, limit: number): Promise<number> {
  return tx.run(
    `DELETE FROM idempotency_keys WHERE created_at <= $1 AND (creator_id, client_id, key) IN
       (SELECT creator_id, client_id, key FROM idempotency_keys WHERE created_at <= $1 ORDER BY created_at LIMIT $2)`,
    [before, limit],
  );
}

export const writes = defineWrites(import.meta.url, { recordTip, deleteKeysBefore }, { recordTip: recordTipStatement });

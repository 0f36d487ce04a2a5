import { toTimestamp } from '../../platform/clock.ts';
import { defineWrites, OwnerGone, type Reader, type Tx, type Value } from '../../platform/db/database.ts';
import type { EventType } from './types.ts';

/** The creator's row that every event updates. */
export interface Head {
  sequence: number;
  last_at: number;
  total_minor: number;
  tip_count: number;
  /** How many tips were voided. Whatever was summed before the last of them is out of date. */
  void_count: number;
  /** How many writes have moved tips to another time. What was summed by time before the last of them is out of date. */
  move_count: number;
  month: string;
  month_total_minor: number;
  month_tip_count: number;
  /** Goals count the tips before this instant. */
  goals_until: number;
}

/** The position of an event, and of the tip that it reports, in a creator's log. */
export interface EventPosition {
  readonly sequence: number;
  readonly createdAt: number;
}

/** The position of a new event, and what the creator's row says beside it. */
interface AppendedEvent extends EventPosition {
  /** Goals count the tips before this instant (goals-repo.ts). */
  readonly goalsUntil: number;
}

/** The trace of the request that caused an event, as the app that sent it names it. */
export interface EventTrace {
  readonly clientId: string;
  readonly traceparent: string;
}

/** An event as plain data, without its position. */
export interface PreparedEvent {
  readonly creatorId: string;
  readonly id: string;
  readonly type: EventType;
  readonly test: boolean;
  readonly replay: boolean;
  readonly now: number;
  /** The platform's month of `now`. */
  readonly month: string;
  /** By how much a new tip raises the totals; `null` for every other event. */
  readonly amountMinor: number | null;
  /** Of a test alert: JSON of what screens show, if that is not what was sent. */
  readonly screened: string | null;
  /** The tip or test alert that the event is about. Absent for a new tip and a new test alert. */
  readonly subjectId?: string;
  readonly trace?: EventTrace;
}

/**
 * Advances the creator's sequence and adds to the totals, in one statement. Time never runs backwards along a creator's
 * log, even if the clocks of nodes differ, so `month` is always the month of `last_at`.
 */
const advance = `
UPDATE creator_heads SET
  sequence = sequence + 1,
  last_at = CASE WHEN $2 >= last_at THEN $2 ELSE last_at END,
  total_minor = total_minor + $4,
  tip_count = tip_count + $5,
  month = CASE WHEN $2 >= last_at THEN $3 ELSE month END,
  month_total_minor = $4 + CASE WHEN $2 >= last_at AND month <> $3 THEN 0 ELSE month_total_minor END,
  month_tip_count = $5 + CASE WHEN $2 >= last_at AND month <> $3 THEN 0 ELSE month_tip_count END
WHERE creator_id = $1`;
const advanced = 'sequence, last_at, goals_until';
const advanceSql = `${advance} RETURNING ${advanced}`;
const advanceScreenedSql = `${advance} AND screening_version = $6 RETURNING ${advanced}`;

const advanceParams = ({ creatorId, now, month, amountMinor }: PreparedEvent): Value[] => [
  creatorId,
  now,
  month,
  amountMinor ?? 0,
  amountMinor === null ? 0 : 1,
];

/**
 * Appends an event to its creator's log. `data` returns the event's data as JSON for its position. A write calls this
 * for the change that it makes, so that both commit together.
 */
export async function appendEvent(
  tx: Tx,
  event: PreparedEvent,
  data: (position: EventPosition) => string,
): Promise<AppendedEvent> {
  const position = await append(tx, event, await tx.get<AdvancedHead>(advanceSql, advanceParams(event)), data);
  if (!position) throw new OwnerGone(`creator ${event.creatorId} has no head`);
  return position;
}

/** As `appendEvent`, if the creator's screening rules are of this version. Otherwise nothing is written. */
export async function appendScreened(
  tx: Tx,
  event: PreparedEvent,
  rulesVersion: number,
  data: (position: EventPosition) => string,
): Promise<AppendedEvent | undefined> {
  const params = [...advanceParams(event), rulesVersion];
  return append(tx, event, await tx.get<AdvancedHead>(advanceScreenedSql, params), data);
}

type AdvancedHead = Pick<Head, 'sequence' | 'last_at' | 'goals_until'>;

async function append(
  tx: Tx,
  event: PreparedEvent,
  head: AdvancedHead | undefined,
  data: (position: EventPosition) => string,
): Promise<AppendedEvent | undefined> {
  if (!head) return undefined;
  const position = { sequence: head.sequence, createdAt: head.last_at, goalsUntil: head.goals_until };
  const body = eventBody(event, position.sequence, toTimestamp(position.createdAt), data(position));
  const { creatorId, id, type, screened, subjectId } = event;
  const values = [creatorId, position.sequence, position.createdAt, id, type, body, screened, ...traceValues(event)];
  await (subjectId === undefined ? tx.run(insertEventSql, values) : tx.run(insertAboutSql, [...values, subjectId]));
  return position;
}

const eventColumns = 'creator_id, sequence, created_at, id, type, body, screened, trace_client_id, traceparent';
const insertEventSql = `INSERT INTO events (${eventColumns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`;
const insertAboutSql = `INSERT INTO events (${eventColumns}, subject_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`;

const traceValues = ({ trace }: PreparedEvent): Value[] => [trace?.clientId ?? null, trace?.traceparent ?? null];

/** The JSON text that sockets and webhooks send. Screens get a projection of it (projection.ts). */
function eventBody(
  { id, type, test, replay, creatorId }: PreparedEvent,
  sequence: number | string,
  createdAt: string,
  data: string,
): string {
  return (
    `{"id":"${id}","type":"${type}","sequence":${sequence},"test":${test},"replay":${replay},` +
    `"creator_id":"${creatorId}","created_at":"${createdAt}","data":${data}}`
  );
}

/**
 * PostgreSQL: `appendEvent` as two WITH queries of a statement that records the change as well. `head` yields the
 * position, if the condition holds; `event` writes the body around it. The parameters are $1 to $13 (`appendParams`):
 * those of `advance`, the event's id and type, the pieces of the body between sequence, time and time, and the trace.
 */
export const appendSql = (condition: string): string => `
head AS (
  ${advance} AND ${condition}
  RETURNING sequence, last_at,
    TO_CHAR(TIMESTAMP '1970-01-01' + last_at * INTERVAL '1 millisecond', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at
),
event AS (
  INSERT INTO events (creator_id, sequence, created_at, id, type, body, trace_client_id, traceparent)
  SELECT $1, sequence, last_at, $6, $7,
    CAST($8 AS TEXT) || sequence || CAST($9 AS TEXT) || at || CAST($10 AS TEXT) || at || CAST($11 AS TEXT), $12, $13
  FROM head
)`;

/** Stands for a position in a body. JSON text never contains this character. */
const gap = '\0';

/** The parameters of `appendSql`. The data contains the event's time; `data` is the JSON before and after it. */
export function appendParams(event: PreparedEvent, data: readonly [string, string]): Value[] {
  const body = eventBody(event, gap, gap, data.join(gap));
  return [...advanceParams(event), event.id, event.type, ...body.split(gap), ...traceValues(event)];
}

export async function insertHead(tx: Tx, creatorId: string): Promise<void> {
  await tx.run('INSERT INTO creator_heads (creator_id) VALUES ($1)', [creatorId]);
}

export function readHead(db: Reader, creatorId: string): Promise<Head | undefined> {
  return db.get<Head>(
    `SELECT sequence, last_at, total_minor, tip_count, void_count, move_count, month, month_total_minor, month_tip_count,
       goals_until
     FROM creator_heads WHERE creator_id = $1`,
    [creatorId],
  );
}

export interface StoredEvent {
  sequence: number;
  type: string;
  body: string;
  /** JSON of a `ScreenedAlert`: what screens show of a test alert, where that is not what was sent. */
  screened: string | null;
}

export function eventsAfter(db: Reader, creatorId: string, after: number, limit: number): Promise<StoredEvent[]> {
  return db.all<StoredEvent>(
    'SELECT sequence, type, body, screened FROM events WHERE creator_id = $1 AND sequence > $2 ORDER BY sequence LIMIT $3',
    [creatorId, after, limit],
  );
}

/** An event to be sent as it is stored. On SQLite the body is bytes: to decode and encode a long text takes 50 µs. */
export interface RawEvent extends Omit<StoredEvent, 'body'> {
  body: string | Uint8Array;
}

const rawEventsSql = (body: string): string =>
  `SELECT sequence, type, ${body} AS body, screened FROM events
   WHERE creator_id = $1 AND sequence > $2 ORDER BY sequence LIMIT $3`;
const rawEvents = { sqlite: rawEventsSql('CAST(body AS BLOB)'), postgres: rawEventsSql('body') };

export function rawEventsAfter(db: Reader, creatorId: string, after: number, limit: number): Promise<RawEvent[]> {
  return db.all<RawEvent>(rawEvents, [creatorId, after, limit]);
}

/**
 * The events about a tip or test alert after its own, oldest first. Sorted here: for an order by sequence SQLite would
 * read the creator's whole log.
 */
export async function eventsAbout(
  db: Reader,
  creatorId: string,
  subjectId: string,
  limit: number,
): Promise<StoredEvent[]> {
  const events = await db.all<StoredEvent>(
    'SELECT sequence, type, body, screened FROM events WHERE subject_id = $2 AND creator_id = $1 LIMIT $3',
    [creatorId, subjectId, limit],
  );
  return events.sort((a, b) => a.sequence - b.sequence);
}

export interface LocatedEvent extends StoredEvent {
  creator_id: string;
}

/**
 * The event with an id, searched among up to `searched` events of all creators from `since` on, which lies a little before
 * the time of the id: the event's time is read before its id is made. It is later where the clock of another node is ahead.
 */
export function eventById(db: Reader, id: string, since: number, searched: number): Promise<LocatedEvent | undefined> {
  return db.get<LocatedEvent>(
    `SELECT e.creator_id, e.sequence, e.type, e.body, e.screened
     FROM (SELECT creator_id, sequence, created_at, id FROM events WHERE created_at >= $2 ORDER BY created_at LIMIT $3) AS f
     JOIN events e ON e.creator_id = f.creator_id AND e.sequence = f.sequence AND e.created_at = f.created_at
     WHERE f.id = $1`,
    [id, since, searched],
  );
}

export async function oldestSequence(db: Reader, creatorId: string): Promise<number | null> {
  const row = await db.get<{ sequence: number }>(
    'SELECT sequence FROM events WHERE creator_id = $1 ORDER BY sequence LIMIT 1',
    [creatorId],
  );
  return row?.sequence ?? null;
}

/** The newest event before an instant. Reads the events since then, so that instant should not be long ago. */
export async function lastSequenceBefore(db: Reader, creatorId: string, before: number): Promise<number> {
  const row = await db.get<{ sequence: number }>(
    'SELECT sequence FROM events WHERE creator_id = $1 AND created_at < $2 ORDER BY sequence DESC LIMIT 1',
    [creatorId, before],
  );
  return row?.sequence ?? 0;
}

/** Deletes up to `limit` events older than `before`, oldest first. Returns how many. */
function deleteEventsBefore(tx: Tx, before: number, limit: number): Promise<number> {
  return tx.run(
    `DELETE FROM events WHERE (creator_id, sequence) IN
       (SELECT creator_id, sequence FROM events WHERE created_at < $1 ORDER BY created_at LIMIT $2)`,
    [before, limit],
  );
}

export function headsAfter(db: Reader, creatorId: string, limit: number) {
  return db.all<{ creator_id: string; last_at: number }>(
    'SELECT creator_id, last_at FROM creator_heads WHERE creator_id > $1 ORDER BY creator_id LIMIT $2',
    [creatorId, limit],
  );
}

export interface CreatorMonth {
  readonly creatorId: string;
  readonly key: string;
  readonly startsAt: number;
  readonly endsAt: number;
}

/** Recomputes creators' month totals from their tips, after the platform's time zone has changed. */
async function recountMonths(tx: Tx, months: readonly CreatorMonth[]): Promise<void> {
  for (const { creatorId, key, startsAt, endsAt } of months) {
    // Locked first, so that the sums have what other nodes recorded until now.
    await tx.run('UPDATE creator_heads SET month = month WHERE creator_id = $1', [creatorId]);
    await tx.run(
      `UPDATE creator_heads SET month = $2,
         month_total_minor = (SELECT COALESCE(SUM(amount_minor), 0) FROM tips
           WHERE tips.creator_id = $1 AND created_at >= $3 AND created_at < $4 AND voided_at IS NULL),
         month_tip_count = (SELECT COUNT(*) FROM tips
           WHERE tips.creator_id = $1 AND created_at >= $3 AND created_at < $4 AND voided_at IS NULL)
       WHERE creator_id = $1`,
      [creatorId, key, startsAt, endsAt],
    );
  }
}

/** The time zone of the stored month totals. */
export async function countedTimeZone(db: Reader): Promise<string | undefined> {
  return (await db.get<{ value: string }>(`SELECT value FROM meta WHERE key = 'time_zone'`))?.value;
}

async function setCountedTimeZone(tx: Tx, timeZone: string): Promise<void> {
  await tx.run(
    `INSERT INTO meta (key, value) VALUES ('time_zone', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value`,
    [timeZone],
  );
}

/** An event without another change. `data` is JSON. */
const appendAlone = (tx: Tx, event: PreparedEvent, data: string): Promise<EventPosition> =>
  appendEvent(tx, event, () => data);

export const writes = defineWrites(import.meta.url, {
  appendAlone,
  deleteEventsBefore,
  recountMonths,
  setCountedTimeZone,
});

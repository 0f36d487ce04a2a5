import { toTimestamp } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/database.ts';
import type { EventLog } from '../events/index.ts';
import { type FirstUse, firstUse, packTip, type Recorded, record } from './record-procedure.ts';
import * as repo from './repo.ts';
import { toTip } from './tip.ts';

/**
 * Records a tip: the key, the tip, the totals and the event, together or not at all; or answers the first use of its
 * key, and has recorded nothing.
 *
 * SQLite runs it as a procedure, whose commit is shared with others that arrive meanwhile. PostgreSQL gets one
 * statement, so that the creator's row is locked for no round trip.
 */
export type RecordRow = (creatorId: string, row: repo.TipRow, key?: repo.NewKey) => Promise<Recorded | FirstUse>;

export function createRecord({ db, events }: { db: Database; events: EventLog }): RecordRow {
  const byProcedure: RecordRow = (creatorId, row, key) =>
    db.call(record, packTip(events.prepare(eventOf(creatorId, row)), row, key));

  const inOneStatement: RecordRow = async (creatorId, row, key) => {
    const [beforeTime, afterTime] = aroundTime(row);
    const params = events.appendParams(eventOf(creatorId, row), [`{"tip":${beforeTime}`, `${afterTime}}`]);
    const place = await repo.recordTip(db, creatorId, params, row, key);
    if (place) return { sequence: place.sequence, json: `${beforeTime}${toTimestamp(place.last_at)}${afterTime}` };
    if (!key) throw new Error(`creator ${creatorId} has no head`);
    return firstUse(db, creatorId, key);
  };

  return db.engine === 'postgres' ? inOneStatement : byProcedure;
}

const eventOf = (creatorId: string, { amount_minor }: repo.TipRow) =>
  ({ creatorId, type: 'tip.created', amountMinor: amount_minor }) as const;

/** The tip, cut where its time stands. */
function aroundTime(row: repo.TipRow): readonly [string, string] {
  const json = JSON.stringify(toTip(row));
  const field = '"created_at":"';
  return [json.slice(0, json.lastIndexOf(field) + field.length), '"}'];
}

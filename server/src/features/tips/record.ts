import { toTimestamp } from '../../platform/clock.ts';
import type { Database, Reader } from '../../platform/db/database.ts';
import type { EventLog } from '../events/index.ts';
import * as repo from './repo.ts';
import { toTip } from './tip.ts';

/** The first use of a key that was taken before. */
type FirstUse = { readonly fingerprint: string; readonly body: string };

/** What was recorded: the tip's place in the history, and the tip as its event shows it. */
type Recorded = { readonly sequence: number; readonly json: string };

/**
 * Records a tip: the key, the tip, the totals and the event, together or not at all; or answers the first use of its
 * key, and has recorded nothing.
 *
 * SQLite runs it as a transaction, whose commit is shared with others that arrive meanwhile. PostgreSQL gets one
 * statement, so that the creator's row is locked for no round trip.
 */
export type RecordRow = (creatorId: string, row: repo.TipRow, key?: repo.NewKey) => Promise<Recorded | FirstUse>;

export function createRecord({ db, events }: { db: Database; events: EventLog }): RecordRow {
  const inTransaction: RecordRow = (creatorId, row, key) =>
    db.write(async (tx) => {
      if (key && !(await repo.takeKey(tx, creatorId, row.id, key))) return firstUse(tx, creatorId, key);
      let json = '';
      const { sequence } = await events.append(tx, {
        ...eventOf(creatorId, row),
        data: (place) => {
          row.sequence = place.sequence;
          row.created_at = place.createdAt;
          json = JSON.stringify(toTip(row));
          return `{"tip":${json}}`;
        },
      });
      await repo.insertTip(tx, creatorId, row);
      return { sequence, json };
    });

  const inOneStatement: RecordRow = async (creatorId, row, key) => {
    const [beforeTime, afterTime] = aroundTime(row);
    const params = events.appendParams(eventOf(creatorId, row), [`{"tip":${beforeTime}`, `${afterTime}}`]);
    const place = await repo.recordTip(db, creatorId, params, row, key);
    if (place) return { sequence: place.sequence, json: `${beforeTime}${toTimestamp(place.last_at)}${afterTime}` };
    if (!key) throw new Error(`creator ${creatorId} has no head`);
    return firstUse(db, creatorId, key);
  };

  return db.engine === 'postgres' ? inOneStatement : inTransaction;
}

async function firstUse(db: Reader, creatorId: string, key: repo.NewKey): Promise<FirstUse> {
  const first = await repo.keyUse(db, creatorId, key);
  if (!first) throw new Error(`creator ${creatorId} has a key without its tip`);
  return first;
}

const eventOf = (creatorId: string, { amount_minor }: repo.TipRow) =>
  ({ creatorId, type: 'tip.created', amountMinor: amount_minor }) as const;

/** The tip, cut where its time stands. */
function aroundTime(row: repo.TipRow): readonly [string, string] {
  const json = JSON.stringify(toTip(row));
  const field = '"created_at":"';
  return [json.slice(0, json.lastIndexOf(field) + field.length), '"}'];
}

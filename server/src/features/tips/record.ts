import type { Database, Reader } from '../../platform/db/database.ts';
import type { EventLog } from '../events/index.ts';
import * as repo from './repo.ts';
import { toTip } from './tip.ts';

/** The first use of a key that was taken before. */
type FirstUse = { readonly fingerprint: string; readonly body: string };

/**
 * Records a tip: the key, the tip, the totals and the event, together or not at all. Fills in the row's place in the
 * history; or answers the first use of its key, and has recorded nothing.
 *
 * SQLite runs it as a transaction, whose commit is shared with others that arrive meanwhile. PostgreSQL gets one
 * statement, so that the creator's row is locked for no round trip.
 */
export type RecordRow = (creatorId: string, row: repo.TipRow, key?: repo.NewKey) => Promise<FirstUse | undefined>;

export function createRecord({ db, events }: { db: Database; events: EventLog }): RecordRow {
  const inTransaction: RecordRow = (creatorId, row, key) =>
    db.write(async (tx) => {
      if (key && !(await repo.takeKey(tx, creatorId, row.id, key))) return firstUse(tx, creatorId, key);
      await events.append(tx, {
        ...eventOf(creatorId, row),
        data: ({ sequence, createdAt }) => {
          row.sequence = sequence;
          row.created_at = createdAt;
          return `{"tip":${JSON.stringify(toTip(row))}}`;
        },
      });
      await repo.insertTip(tx, creatorId, row);
      return undefined;
    });

  const inOneStatement: RecordRow = async (creatorId, row, key) => {
    const params = events.appendParams(eventOf(creatorId, row), dataAroundTime(row));
    const place = await repo.recordTip(db, params, row, key);
    if (place) {
      row.sequence = place.sequence;
      row.created_at = place.last_at;
      return undefined;
    }
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

/** The event's data, cut where the tip's time stands. */
function dataAroundTime(row: repo.TipRow): readonly [string, string] {
  const json = JSON.stringify(toTip(row));
  const field = '"created_at":"';
  return [`{"tip":${json.slice(0, json.lastIndexOf(field) + field.length)}`, '"}}'];
}

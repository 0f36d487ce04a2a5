import type { Reader } from '../../platform/db/database.ts';
import { procedure } from '../../platform/db/procedure.ts';
import { append, type PreparedEvent } from '../events/index.ts';
import * as repo from './repo.ts';
import { toTip } from './tip.ts';

/** The first use of a key that was taken before. */
export type FirstUse = { readonly fingerprint: string; readonly body: string };

/** What was recorded: the tip's place in the history, and the tip as its event shows it. */
export type Recorded = { readonly sequence: number; readonly json: string };

export interface TipToRecord {
  readonly event: PreparedEvent;
  readonly row: repo.TipRow;
  readonly key: repo.NewKey | undefined;
}

/** Takes the key and records the tip with its event. Loaded by the thread that writes, so it imports little. */
export const record = procedure(
  import.meta.url,
  'record',
  async (tx, { event, row, key }: TipToRecord): Promise<Recorded | FirstUse> => {
    const { creatorId } = event;
    if (key && !(await repo.takeKey(tx, creatorId, row.id, key))) return firstUse(tx, creatorId, key);
    let json = '';
    const { sequence } = await append(tx, event, (place) => {
      row.sequence = place.sequence;
      row.created_at = place.createdAt;
      json = JSON.stringify(toTip(row));
      return `{"tip":${json}}`;
    });
    await repo.insertTip(tx, creatorId, row);
    return { sequence, json };
  },
);

export async function firstUse(db: Reader, creatorId: string, key: repo.NewKey): Promise<FirstUse> {
  const first = await repo.keyUse(db, creatorId, key);
  if (!first) throw new Error(`creator ${creatorId} has a key without its tip`);
  return first;
}

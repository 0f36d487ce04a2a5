import type { Reader } from '../../platform/db/database.ts';
import { procedure } from '../../platform/db/procedure.ts';
import { append, type PreparedEvent } from '../events/index.ts';
import * as repo from './repo.ts';
import { toTip } from './tip.ts';

/** The first use of a key that was taken before. */
export type FirstUse = { readonly fingerprint: string; readonly body: string };

/** What was recorded: the tip's place in the history, and the tip as its event shows it. */
export type Recorded = { readonly sequence: number; readonly json: string };

/** A tip to be recorded: its event, its row and its key. */
type TipToRecord = readonly [event: PreparedEvent, row: repo.TipRow, key: repo.NewKey | undefined];

type PackedKey = readonly [clientId: string, key: string, fingerprint: string, now: number, staleBefore: number];

/** As a list: to copy the names of fields to another thread takes longer than to copy their values. */
export type PackedTip = readonly [
  creatorId: string,
  eventId: string,
  now: number,
  month: string,
  id: string,
  amountMinor: number,
  name: string,
  displayName: string | null,
  message: string | null,
  clientId: string | null,
  appName: string | null,
  key: PackedKey | null,
];

export const packTip = (...[event, row, key]: TipToRecord): PackedTip => [
  event.creatorId,
  event.id,
  event.now,
  event.month,
  row.id,
  row.amount_minor,
  row.name,
  row.display_name,
  row.message,
  row.client_id,
  row.app_name,
  key ? [key.clientId, key.key, key.fingerprint, key.now, key.staleBefore] : null,
];

function unpackTip(packed: PackedTip): TipToRecord {
  const [
    creatorId,
    eventId,
    now,
    month,
    id,
    amount_minor,
    name,
    display_name,
    message,
    client_id,
    app_name,
    packedKey,
  ] = packed;
  return [
    {
      creatorId,
      id: eventId,
      type: 'tip.created',
      test: false,
      replay: false,
      now,
      month,
      amountMinor: amount_minor,
      tips: 1,
    },
    {
      id,
      sequence: 0,
      amount_minor,
      name,
      display_name,
      message,
      client_id,
      app_name,
      alert_status: 'queued',
      alert_shown_at: null,
      created_at: 0,
    },
    packedKey ? unpackKey(packedKey) : undefined,
  ];
}

const unpackKey = ([clientId, key, fingerprint, now, staleBefore]: PackedKey): repo.NewKey => ({
  clientId,
  key,
  fingerprint,
  now,
  staleBefore,
});

/** Takes the key and records the tip with its event. Loaded by the thread that writes, so it imports little. */
export const record = procedure(
  import.meta.url,
  'record',
  async (tx, packed: PackedTip): Promise<Recorded | FirstUse> => {
    const [event, row, key] = unpackTip(packed);
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

/** Reads all that the API tells of a creator after the load, through every page. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { HonestCall } from './calls.ts';
import type { CreatorRecord } from './ledger.ts';
import type { LivePair } from './world.ts';

interface TipPage {
  readonly data: readonly { readonly id: string; readonly amount_minor: number }[];
  readonly next_cursor: string | null;
}

interface EventPage {
  readonly data: readonly {
    readonly id: string;
    readonly type: string;
    readonly sequence: number;
    readonly data: { readonly tip?: { readonly id: string } };
  }[];
  readonly next_after: number;
}

/** Of the 120 that an app may read in a minute, some were used by the load. */
const readsAMinute = 80;

/** The creator's apps take turns, so that none reads more than it may. */
export async function readBack(
  call: HonestCall,
  urls: readonly string[],
  pairs: readonly LivePair[],
): Promise<Omit<CreatorRecord, 'streams'>> {
  let count = 0;
  async function get<T>(path: string): Promise<T> {
    const pair = pairs[count % pairs.length];
    const url = urls[count % urls.length] ?? '';
    count += 1;
    if (count > pairs.length) await sleep(60_000 / (readsAMinute * pairs.length));
    const answer = await call({ kind: 'reading back', url, path, headers: { ...pair?.headers }, expects: 200 });
    if (!answer) throw new Error(`${path} could not be read back`);
    return answer.json as T;
  }

  const history: { id: string; amountMinor: number }[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: TipPage = await get(
      `/v1/tips?limit=100${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`,
    );
    for (const { id, amount_minor } of page.data) history.push({ id, amountMinor: amount_minor });
    cursor = page.next_cursor;
  }
  const events: { id: string; sequence: number; tipId: string | null }[] = [];
  for (let after = 0; ; ) {
    const page = await get<EventPage>(`/v1/events?limit=100&after=${after}`);
    for (const { id, type, sequence, data } of page.data)
      events.push({ id, sequence, tipId: type === 'tip.created' ? (data.tip?.id ?? '') : null });
    if (page.data.length === 0) break;
    after = page.next_after;
  }
  const stats = await get<{ all_time: { total_minor: number; count: number } }>('/v1/tips/stats');
  const { total_minor: totalMinor, count: tips } = stats.all_time;
  return { creatorId: pairs[0]?.creatorId ?? '', history, events, stats: { totalMinor, count: tips } };
}

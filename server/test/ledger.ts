import assert from 'node:assert/strict';
import type { Database } from '../src/platform/db/database.ts';
import { createZone } from '../src/platform/zone.ts';

/** That of a server without other settings. */
const zone = createZone('Asia/Bangkok');

/** Checks every promise about recorded tips on the whole database. Returns the ids of all tips. */
export async function assertLedger(db: Database): Promise<Set<string>> {
  const heads = await db.all<{
    creator_id: string;
    sequence: number;
    last_at: number;
    total_minor: number;
    tip_count: number;
    month: string;
    month_total_minor: number;
    month_tip_count: number;
  }>('SELECT * FROM creator_heads');
  const events = Map.groupBy(
    await db.all<{ creator_id: string; sequence: number; type: string; id: string; body: string }>(
      'SELECT * FROM events ORDER BY creator_id, sequence',
    ),
    ({ creator_id }) => creator_id,
  );
  const tips = Map.groupBy(
    await db.all<{
      creator_id: string;
      sequence: number;
      created_at: number;
      id: string;
      amount_minor: number;
      voided_at: number | null;
    }>('SELECT * FROM tips ORDER BY creator_id, sequence'),
    ({ creator_id }) => creator_id,
  );
  const ids = new Set<string>();
  for (const head of heads) {
    const [log, history] = [events.get(head.creator_id) ?? [], tips.get(head.creator_id) ?? []];
    assert.deepEqual(
      log.map(({ sequence }) => sequence),
      Array.from({ length: head.sequence }, (_, i) => i + 1),
      'sequences count up by one',
    );
    const counted = history.filter(({ voided_at }) => voided_at === null);
    const ofMonth = counted.filter(({ created_at }) => zone.month(created_at).key === head.month);
    assert.deepEqual([head.total_minor, head.tip_count], [sum(counted), counted.length], 'totals equal the sums');
    assert.deepEqual(
      [head.month_total_minor, head.month_tip_count],
      [sum(ofMonth), ofMonth.length],
      'the month’s totals equal the sums',
    );
    if (head.sequence > 0)
      assert.equal(head.month, zone.month(head.last_at).key, 'the month is that of the last event');
    const announced = log.filter(({ type }) => type === 'tip.created').map(({ body }) => JSON.parse(body));
    assert.deepEqual(
      announced.map(({ sequence, data }) => [sequence, data.tip.id, data.tip.amount_minor]),
      history.map(({ sequence, id, amount_minor }) => [sequence, id, amount_minor]),
      'each tip has its event, and each event its tip',
    );
    for (const { id } of history) {
      assert.ok(!ids.has(id), `tip ${id} is doubled`);
      ids.add(id);
    }
  }
  assert.equal([...tips.values()].flat().length, ids.size, 'no tip without a creator');
  return ids;
}

const sum = (tips: readonly { amount_minor: number }[]): number =>
  tips.reduce((total, { amount_minor }) => total + amount_minor, 0);

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { buildApp, onNodes } from '../../../test/build-app.ts';
import { makePair } from '../../../test/factories.ts';
import { assertLedger } from '../../../test/ledger.ts';
import { createTips } from '../tips/index.ts';

const page = '00000000-0000-4000-8000-000000000001';
const day = 24 * 3_600_000;
const tipCount = 60;
/** Each decision has to be made within five seconds, and those of one creator are made one after another. */
const atOnce = 10;

/** Held and queued tips of a creator, a day old, and the nodes of the store. */
async function prepare(t: TestContext) {
  const one = await buildApp(t);
  const apps = onNodes ? [one, await buildApp(t, one.env)] : [one];
  const { creatorId } = await makePair(one.runtime);
  const goal = { title: 'Goal', targetMinor: 100_000, startsAt: one.clock(), endsAt: null };
  await one.runtime.goals.add(creatorId, goal);
  const made: { id: string; sequence: number }[] = [];
  for (let i = 0; i < tipCount; i++) {
    const status = i % 2 === 0 ? 'queued' : 'held';
    const tips = createTips({ ...one.runtime, screen: async () => ({ status, shown: null, version: 0 }) });
    const words = { name: `NAME_${i % 7}`, displayName: null, message: null };
    const { tip } = await tips.record({ creatorId, app: null, amount: 100 + i, ...words });
    made.push({ id: tip.id, sequence: (await tips.withSequence(creatorId, tip.id)).sequence });
  }
  await one.runtime.tips.top(creatorId, 'all', 10);
  for (const { clock } of apps) clock.advance(day);
  return { creatorId, made, nodes: apps.map(({ runtime }) => runtime), runtime: one.runtime };
}

const unlessRefused = (error: { code?: string }): void => {
  if (error.code !== 'not_found') throw error;
};

test('whatever is decided about a tip at the same time, on any node, it has one outcome, and nothing follows a void', async (t) => {
  const { creatorId, made, nodes, runtime } = await prepare(t);
  const decide = ({ id }: (typeof made)[number], i: number): Promise<unknown>[] =>
    nodes.flatMap(({ overlays, tips }) => {
      const acks = made.slice(i, i + atOnce).map(({ sequence }) => ({ sequence, outcome: 'shown' as const }));
      return [
        overlays.approve(creatorId, id),
        overlays.reject(creatorId, id),
        overlays.skip(creatorId, id),
        overlays.replayTip(creatorId, id).catch(unlessRefused),
        ...(i % 3 === 0 ? [tips.void(creatorId, id, { clientId: null, reason: null })] : []),
        ...(i % atOnce === 0 ? [overlays.acknowledge(creatorId, page, acks), tips.top(creatorId, 'all', 10)] : []),
        ...(i === tipCount - atOnce ? [overlays.skipHeld()] : []),
      ];
    });
  for (let i = 0; i < tipCount; i += atOnce)
    await Promise.all(made.slice(i, i + atOnce).flatMap((tip, j) => decide(tip, i + j)));

  const events = (await runtime.events.after(creatorId, 0, 2000)).map(({ body }) => JSON.parse(body));
  assert.equal(events.filter(({ type }) => type === 'goal.reached').length, 1);
  for (const { id } of made) {
    const own = events.filter(({ data }) => (data.tip?.id ?? data.tip_id) === id);
    const log = own.map(({ type, data }) => `${type} ${data.reason ?? data.tip?.alert.status ?? ''}`).join(', ');
    let state = { status: '', voided: false };
    for (const { type, data } of own) {
      assert.ok(!state.voided, `something follows a void: ${log}`);
      if (type === 'alert.shown' || type === 'alert.skipped') {
        assert.ok(['held', 'queued'].includes(state.status), `two outcomes: ${log}`);
        state.status = type === 'alert.shown' ? 'shown' : 'skipped';
      } else if (type === 'alert.replayed') {
        assert.equal(data.tip.alert.status, state.status, `the tip as it was when the event committed: ${log}`);
        assert.doesNotMatch(log, /rejected.*replayed|held_too_long.*replayed/);
      } else state = { status: data.tip.alert.status, voided: type === 'tip.voided' };
    }
    assert.equal((await runtime.tips.byId(creatorId, id)).alert.status, state.status, log);
  }
  await assertLedger(runtime.db);
  assert.deepEqual(await runtime.tips.top(creatorId, 'all', 10), await naiveTop(runtime.db, creatorId));
});

async function naiveTop(db: Awaited<ReturnType<typeof prepare>>['runtime']['db'], creatorId: string) {
  const rows = await db.all<{ name: string; amount_minor: number }>(
    `SELECT name, amount_minor FROM tips WHERE creator_id = $1 AND voided_at IS NULL
       AND alert_status <> 'held' AND COALESCE(alert_reason, '') NOT IN ('rejected', 'held_too_long')`,
    [creatorId],
  );
  return [...Map.groupBy(rows, ({ name }) => name)]
    .map(([name, tips]) => ({
      name,
      totalMinor: tips.reduce((sum, { amount_minor }) => sum + amount_minor, 0),
      count: tips.length,
    }))
    .sort((a, b) => b.totalMinor - a.totalMinor || (a.name < b.name ? -1 : 1));
}

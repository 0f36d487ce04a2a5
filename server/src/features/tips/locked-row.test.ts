import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp, onNodes } from '../../../test/build-app.ts';
import { makePair, type Pair } from '../../../test/factories.ts';
import { lockCreatorRow } from '../../../test/locked-row.ts';
import { startStopwatch } from '../../../test/stopwatch.ts';

test('security 40: a creator’s row that is locked holds up that creator’s tips, and nobody else’s', {
  skip: !onNodes,
}, async (t) => {
  const { http, runtime, clock, env } = await buildApp(t, {}, { withinMs: 4_500 });
  const locked = await makePair(runtime);
  const others = await Promise.all(Array.from({ length: 12 }, () => makePair(runtime)));
  const post = ({ headers }: Pair) =>
    http.inject({ method: 'POST', url: '/v1/tips', headers, payload: { amount: 5, name: 'SOMCHAI' } });
  const release = await lockCreatorRow(String(env.DATABASE_URL), locked.creatorId);
  t.after(release);
  const statuses = new Set<number>();
  let [recorded, slowestMs] = [0, 0];
  const timed = async (pair: Pair) => {
    const stopwatch = startStopwatch();
    statuses.add((await post(pair)).statusCode);
    slowestMs = Math.max(slowestMs, stopwatch());
  };
  // However many rounds the machine manages before the locked one's time is up: it is sent again until there are enough.
  while (recorded < 120) {
    let waits = true;
    const held = post(locked).finally(() => {
      waits = false;
    });
    // Each round is one group of statements, sent while the locked one waits and again when its time is up.
    while (waits) {
      await Promise.all(others.map(timed));
      recorded += others.length;
      if (recorded % 120 === 0) clock.advance(60_000);
    }
    assert.equal((await held).statusCode, 502);
  }
  assert.deepEqual([...statuses], [201]);
  assert.ok(slowestMs < 4_500, `one was answered after ${slowestMs} ms`);
  await release();
  assert.equal((await post(locked)).statusCode, 201);
  assert.equal((await runtime.tips.stats(locked.creatorId)).all_time.count, 1, 'the refused one was not recorded');
});

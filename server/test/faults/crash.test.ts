import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { rounds } from '../../../sdk/test/rounds.ts';
import { assertLedger } from '../ledger.ts';
import { startServer } from '../server-process.ts';
import { makePairs, sameIssuer, withStore } from '../store.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { postTips } from '../tip-load.ts';

const kills = rounds(10);

const settings = (directory: string) => ({ ...sameIssuer, DATABASE_URL: `sqlite:${join(directory, 'namjai.db')}` });

test('10,000 tips at 64 connections: totals equal the sums, no gap, nothing missing or doubled', async (t) => {
  const env = settings(temporaryDirectory(t));
  const [pairs, fresh] = await withStore(env, async (runtime) => [
    await makePairs(runtime, 100, 10),
    await makePairs(runtime, 1, 1),
  ]);
  const server = await startServer({ env });
  t.after(() => server.kill());
  const { recorded, statuses } = await postTips(server.url, pairs, { count: 10_000, connections: 64 });
  assert.deepEqual([...statuses], [[201, 10_000]]);
  const over = await postTips(server.url, fresh!, { count: 11, connections: 11 });
  assert.deepEqual(Object.fromEntries(over.statuses), { 201: 10, 429: 1 }, 'the limiter is on');
  await server.kill('SIGTERM');
  const ids = await withStore(env, ({ db }) => assertLedger(db));
  assert.equal(ids.size, 10_010);
  for (const { id } of [...recorded, ...over.recorded]) assert.ok(ids.has(id));
});

test(`kill -9 in mid-load, ${kills} rounds: what was answered 201 is there, once`, {
  timeout: 1_200_000 + kills * 12_000,
}, async (t) => {
  const env = settings(temporaryDirectory(t));
  const pairs = await withStore(env, (runtime) => makePairs(runtime, 20, 20));
  const answered = new Set<string>();
  let cutOff = 0;
  for (let round = 0; round < kills; round++) {
    const server = await startServer({ env });
    // By answers and not by the clock, so that a slow machine is in mid-load too; then at another point of a commit.
    const enough = Promise.withResolvers<void>();
    const onRecorded = (count: number) => (count >= 40 + (round % 20) * 5 ? enough.resolve() : undefined);
    const load = postTips(server.url, pairs, { count: 4000, connections: 64, onRecorded });
    await Promise.race([enough.promise, load]);
    await new Promise((resolve) => setTimeout(resolve, round % 20));
    await server.kill('SIGKILL');
    const { recorded, lost } = await load;
    cutOff += lost;
    for (const { id } of recorded) answered.add(id);
    const ids = await withStore(env, ({ db }) => assertLedger(db));
    for (const id of answered) assert.ok(ids.has(id), `round ${round}: tip ${id} was answered 201 and is gone`);
  }
  assert.ok(answered.size >= 40 * kills, `only ${answered.size} tips were recorded`);
  assert.ok(cutOff > 5 * kills, 'the server was killed in mid-load');
  t.diagnostic(`${answered.size} tips answered, ${cutOff} requests cut off`);
});

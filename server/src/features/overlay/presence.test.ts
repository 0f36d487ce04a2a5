import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../../../test/build-app.ts';
import { makeCreator } from '../../../test/factories.ts';
import { writes } from './repo.ts';

const second = 1000;

test('when overlays were open is told over all nodes, without short gaps, and the newest times only', async (t) => {
  const { runtime, clock } = await buildApp(t);
  const { creatorId } = await makeCreator(runtime);
  const start = clock();
  const report = async (node: string, connected: number, afterMs: number) => {
    clock.advance(afterMs);
    await runtime.db.write(writes.setPresence, creatorId, node, { connected, outdated: 0 }, clock());
  };
  const spans = async () =>
    (await runtime.presence.spans(creatorId)).map(({ from, to }) => [from - start, to === null ? null : to - start]);
  await report('a', 1, 0);
  assert.deepEqual(await spans(), [[0, null]]);
  await report('a', 0, 10 * second);
  assert.deepEqual(await spans(), [[0, 10 * second]]);
  await report('a', 2, 4 * second);
  assert.deepEqual(await spans(), [[0, null]], 'four seconds are no gap');
  await report('b', 1, second);
  await report('a', 0, second);
  await report('b', 0, second);
  assert.deepEqual(await spans(), [[0, 17 * second]], 'one node took over from another');
  await report('b', 1, 60 * second);
  assert.deepEqual((await spans()).at(-1), [77 * second, null]);
  clock.advance(200 * second);
  assert.deepEqual((await spans()).at(-1), [77 * second, 77 * second], 'a node that says nothing more has died');
  for (let i = 0; i < 205; i++) {
    await report('c', 1, 6 * second);
    await report('c', 0, second);
  }
  assert.equal((await spans()).length, 200);
});

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { temporaryDirectory } from '../build-app.ts';
import { makePair } from '../factories.ts';
import { flood } from '../flood.ts';
import { prepareNodes } from '../nodes.ts';
import { skipWithoutRedisServer } from '../redis.ts';
import { startServer } from '../server-process.ts';
import { makePairs, sameIssuer, withStore } from '../store.ts';
import { assertUnharmed } from '../victim.ts';

const page = '00000000-0000-4000-8000-000000000001';

/** 1,500 requests of fifty acknowledgements each. */
async function acknowledge(url: string, key: string): Promise<void> {
  const acks = Array.from({ length: 50 }, (_, i) => ({ sequence: 1 + i, outcome: 'shown' }));
  const body = JSON.stringify({ instance: page, acks });
  const statuses = await flood({ url, path: `/overlay/${key}/ack`, body, requests: 1_500, connections: 20 });
  assert.ok(statuses[429]! > 1_300, JSON.stringify(statuses));
}

async function assertAcknowledgementsHarmNobody(env: Record<string, string>, url: string): Promise<void> {
  const { pairs, key } = await withStore(env, async (runtime) => {
    const attacker = await makePair(runtime);
    const words = { name: 'SOMCHAI', displayName: null, message: null };
    for (let i = 0; i < 50; i++)
      await runtime.tips.record({ creatorId: attacker.creatorId, app: null, amount: 5, ...words });
    return { pairs: await makePairs(runtime, 100, 1), key: await runtime.overlays.key(attacker.creatorId) };
  });
  await assertUnharmed({ url, pairs }, () => acknowledge(url, key));
}

test('security 38: an overlay’s acknowledgements at full speed harm nobody, on SQLite', async (t: TestContext) => {
  const env = {
    ...sameIssuer,
    SECRET_KEY: 'a key that this test and its server share',
    DATABASE_URL: `sqlite:${join(temporaryDirectory(t), 'namjai.db')}`,
  };
  const server = await startServer({ env });
  t.after(() => server.kill());
  await assertAcknowledgementsHarmNobody(env, server.url);
});

test('security 38: an overlay’s acknowledgements at full speed harm nobody, on PostgreSQL', {
  skip: skipWithoutRedisServer,
}, async (t: TestContext) => {
  const { env, urls, start } = await prepareNodes(t, 1);
  await start(0);
  await assertAcknowledgementsHarmNobody(env, urls[0]!);
});

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { acknowledgements } from '../attacks.ts';
import { temporaryDirectory } from '../build-app.ts';
import { flood } from '../flood.ts';
import { prepareNodes } from '../nodes.ts';
import { skipWithoutRedisServer } from '../redis.ts';
import { startServer } from '../server-process.ts';
import { makePairs, sameIssuer, withStore } from '../store.ts';
import { assertUnharmed, createVictim } from '../victim.ts';

/** A round that a busy machine has slowed down is measured again, with an overlay of its own. */
const rounds = 3;

async function assertAcknowledgementsHarmNobody(env: Record<string, string>, url: string): Promise<void> {
  const { pairs, attacks } = await withStore(env, async (runtime) => ({
    pairs: await makePairs(runtime, 100, 1),
    attacks: await Promise.all(Array.from({ length: rounds }, () => acknowledgements(runtime))),
  }));
  const target = { port: Number(new URL(url).port), connections: 20 };
  await assertUnharmed(
    createVictim(url, pairs),
    async (round) => {
      const answers = await flood({ ...target, requests: attacks[round]! }, 1_500);
      assert.ok(answers[429]! > 1_300, JSON.stringify(answers));
    },
    rounds,
  );
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

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Runtime } from '../../src/runtime.ts';
import {
  acknowledgements,
  attackConnections,
  badStreamKeys,
  chaosCalls,
  historyReads,
  publicPages,
  strangersPings,
  tipsOfOne,
  webhookCalls,
  wrongSignIns,
} from '../attacks.ts';
import { makeCreator } from '../factories.ts';
import { type Answers, type FloodRequest, flood } from '../flood.ts';
import { lockCreatorRow } from '../locked-row.ts';
import { makeManyTips } from '../many-tips.ts';
import { prepareNodes } from '../nodes.ts';
import { startReceiver } from '../receiver.ts';
import { skipWithoutRedisServer } from '../redis.ts';
import { type ServerProcess, startServer } from '../server-process.ts';
import { makePairs, sameIssuer, withStore } from '../store.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { assertUnharmed, createVictim, type PrepareAttack, raisePriority } from '../victim.ts';

raisePriority();

/** The attacker names addresses as a proxy does, and has a receiver of webhooks on this machine. */
const settings = { WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8', TRUST_PROXY: '127.0.0.0/8' };

interface Shape {
  readonly env: Record<string, string>;
  readonly url: string;
  readonly port: number;
  readonly connections: number;
  assertHarmless: (prepare: PrepareAttack, options?: Parameters<typeof assertUnharmed>[3]) => Promise<void>;
}

/** Sends so many requests of the list that is made for each round, and looks at what was answered. */
const requests =
  (
    { env, port, connections }: Shape,
    count: number,
    prepare: (runtime: Runtime) => Promise<FloodRequest[]>,
    check: (answers: Answers) => void,
  ): PrepareAttack =>
  async () => {
    const list = await withStore(env, prepare);
    return async () => check(await flood({ port, connections, requests: list }, count));
  };

/** Nothing else was answered, and at most so many of the statuses before the last one, which refuses. */
const answeredOnly =
  (statuses: readonly number[], allowed = Number.POSITIVE_INFINITY) =>
  (answers: Answers): void => {
    const counts = new Map(Object.entries(answers).map(([status, count]) => [Number(status), count]));
    assert.deepEqual(
      [...counts.keys()].filter((status) => !statuses.includes(status)),
      [],
      JSON.stringify(answers),
    );
    const accepted = statuses.slice(0, -1).reduce((sum, status) => sum + (counts.get(status) ?? 0), 0);
    assert.ok(accepted <= allowed, JSON.stringify(answers));
  };

type Line = (shape: Shape, t: TestContext) => Promise<void>;

const lines: Record<string, Line> = {
  'of chaos: calls for a sandbox creator': (shape) =>
    shape.assertHarmless(requests(shape, 1_500, chaosCalls, answeredOnly([429, 503]))),
  '36: pings of strangers': ({ assertHarmless, port, connections }) =>
    assertHarmless(async () => () => flood({ port, connections, ...strangersPings }, 200)),
  '37: wrong sign-ins from fifty addresses': (shape) => {
    let network = 0;
    // More connections than may wait for a hash, so that the rest is refused, a second later, and asks again.
    return shape.assertHarmless(
      requests(
        { ...shape, connections: 150 },
        300,
        () => wrongSignIns(shape.url, network++, 20),
        (answers) => {
          answeredOnly([401, 429])(answers);
          assert.ok(answers[429], 'nobody was refused');
        },
      ),
    );
  },
  '38: an overlay’s acknowledgements': (shape) =>
    shape.assertHarmless(
      requests({ ...shape, connections: 120 }, 1_500, acknowledgements, answeredOnly([204, 429], 2_400 / 50)),
    ),
  '39: an app’s pings, retries and replays': async (shape, t) => {
    const receiver = await startReceiver(t);
    const prepare = (runtime: Runtime) => webhookCalls(runtime, receiver.url, 50);
    await shape.assertHarmless(requests(shape, 600, prepare, answeredOnly([200, 202, 429], 120)));
  },
  '41: a long history that is looked at, searched and exported': (shape) =>
    shape.assertHarmless(requests(shape, 300, longHistory, answeredOnly([200, 429]))),
  '42: what anybody may ask for': (shape) =>
    shape.assertHarmless(requests(shape, 800, publicPages, answeredOnly([200, 429]))),
  '51: connections with bad stream keys': (shape) =>
    shape.assertHarmless(requests(shape, 1_500, badStreamKeys, answeredOnly([403]))),
};

async function longHistory(runtime: Runtime): Promise<FloodRequest[]> {
  const { creatorId } = await makeCreator(runtime);
  await makeManyTips(runtime, creatorId, 100_000);
  return historyReads(runtime, creatorId);
}

/** The row stays locked until all tips that wait for it are refused, and one more. */
async function lockedRow({ env, port, assertHarmless }: Shape): Promise<void> {
  const { creatorId, requests: tips } = await withStore(env, (runtime) => tipsOfOne(runtime, 50));
  await assertHarmless(
    async () => async () => {
      const release = await lockCreatorRow(env.DATABASE_URL!, creatorId);
      const answers = await flood({ port, connections: 20, requests: tips }, 21).finally(release);
      assert.deepEqual(Object.keys(answers), ['502']);
    },
    { idle: true },
  );
}

async function assertNobodyHarms(
  t: TestContext,
  env: Record<string, string>,
  { url, child }: Pick<ServerProcess, 'url' | 'child'>,
  more: Record<string, Line> = {},
): Promise<void> {
  const pid = child.pid!;
  const victim = createVictim(url, pid, await withStore(env, (runtime) => makePairs(runtime, 50, 4)));
  // The first answers of a server are slow by themselves.
  const warmUntil = performance.now() + 500;
  await victim.callEvenly(() => performance.now() < warmUntil);
  const shape: Shape = {
    env,
    url,
    port: Number(new URL(url).port),
    connections: attackConnections,
    assertHarmless: (prepare, options) => assertUnharmed(victim, pid, prepare, options),
  };
  for (const [name, line] of Object.entries({ ...lines, ...more }))
    await t.test(`security ${name}`, (inner) => line(shape, inner));
}

test('what one stranger or neighbour does at full speed harms nobody else, on SQLite', async (t) => {
  const env = {
    ...sameIssuer,
    ...settings,
    SECRET_KEY: 'a key that this test and its server share',
    DATABASE_URL: `sqlite:${join(temporaryDirectory(t), 'namjai.db')}`,
  };
  const server = await startServer({ env });
  t.after(() => server.kill());
  await assertNobodyHarms(t, env, server);
});

test('what one stranger or neighbour does at full speed harms nobody else, on PostgreSQL', {
  skip: skipWithoutRedisServer,
}, async (t) => {
  const { env, start, node } = await prepareNodes(t, 1, settings);
  await start(0);
  await assertNobodyHarms(t, env, node(0), { '40: a creator’s row that is locked': lockedRow });
});

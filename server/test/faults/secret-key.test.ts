import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { rounds } from '../../../sdk/test/rounds.ts';
import { seed, seeded } from '../../../sdk/test/seeded.ts';
import { until } from '../../../sdk/test/until.ts';
import type { Runtime } from '../../src/runtime.ts';
import { startCommand } from '../cli-process.ts';
import { makePair, type Pair } from '../factories.ts';
import { freePort } from '../free-port.ts';
import { prepareNodes } from '../nodes.ts';
import { skipWithoutRedis } from '../redis.ts';
import * as sealed from '../sealed.ts';
import { type ServerProcess, startServer } from '../server-process.ts';
import { sameIssuer, withStore } from '../store.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

/** Few: the command is killed at any step. Many: always at its first, so that two rounds lead one step further. */
const kills = rounds(1);
const random = seeded(seed);
const steps = 9;
const hook = new URL('./kill-at-commit.ts', import.meta.url).href;
const options = { timeout: 1_200_000 + kills * 60_000 };

type Env = Record<string, string>;
const before = { ...sealed.before, SECRET_KEY_OLD: '' };
const after = { ...sealed.after, SECRET_KEY_OLD: '' };

/** Servers as separate processes, each of which can be killed and started again with other keys. */
async function prepareServers(t: TestContext, env: Env, count: number) {
  const ports = await Promise.all(Array.from({ length: count }, freePort));
  const running: ServerProcess[] = [];
  t.after(() => Promise.all(running.map((server) => server.kill())));
  return {
    async start(index: number, keys: Env) {
      const port = ports[index];
      assert.ok(port);
      running[index] = await startServer({ env: { ...env, ...keys }, port });
    },
    async end(index: number, signal: NodeJS.Signals) {
      await running[index]?.kill(signal);
    },
    urls: ports.map((port) => `http://localhost:${port}`),
  };
}

async function assertServes(url: string, { headers }: Pair): Promise<void> {
  const answer = await fetch(`${url}/v1/socket/token`, { headers });
  assert.equal(answer.status, 200, await answer.text());
}

/** Kills the command, and from time to time a server, at every step until the rotation is complete or rounds are over. */
async function killAll(t: TestContext, env: Env, store: Runtime, servers: Awaited<ReturnType<typeof prepareServers>>) {
  const pair = await makePair(store);
  const modes = ['before', env.REDIS_URL ? 'sent' : 'after', 'before', 'after'];
  const progress: number[] = [];
  for (let round = 0; round < kills; round++) {
    const [first, step] = kills < steps ? [2 * random(), 1 + Math.floor(steps * random())] : [round, 1];
    const mode = modes[Math.floor(first) % modes.length] ?? 'after';
    const hooked = { ...env, ...sealed.both, NODE_OPTIONS: `--import=${hook}`, KILL: `${mode} ${step}` };
    const { child, exit } = startCommand(t, hooked, 'secret-key', 'rotate');
    const code = await exit;
    const secrets = await sealed.assertAllOpen(store, sealed.secondKey, sealed.firstKey);
    const { old, begun } = await store.sealing.status();
    progress.push(secrets - old);
    if (code === 0) break;
    assert.equal(child.signalCode, 'SIGKILL', `the command ended with ${code} : ${mode} ${step}`);
    for (const url of servers.urls) await assertServes(url, pair);
    if (!begun) continue;
    // A node that dies before it has said that it seals with the new key is waited for, a minute long.
    await until('every node seals with the new key', async () =>
      (await store.sealing.status()).nodes.every(({ seals_with_new }) => seals_with_new),
    );
    // In a long run all of them: one that lives for a minute would go on with the rotation by itself.
    const victims = [...servers.urls.keys()].slice(0, kills < steps ? 1 : undefined);
    await Promise.all(victims.map((victim) => servers.end(victim, 'SIGKILL')));
    await Promise.all(victims.map((victim) => servers.start(victim, sealed.both)));
  }
  t.diagnostic(`sealed with the new key after each kill: ${progress.join(' ')}`);
  assert.deepEqual(
    progress,
    progress.toSorted((a, b) => a - b),
    'nothing is sealed with the old key again',
  );
  return pair;
}

async function rotateAmidKills(t: TestContext, env: Env, count: number): Promise<void> {
  await withStore({ ...env, ...before }, (old) => sealed.makeSealed(old, 120));
  const servers = await prepareServers(t, env, count);
  for (const index of servers.urls.keys()) await servers.start(index, sealed.both);
  await withStore({ ...env, ...sealed.both }, async (store) => {
    const pair = await killAll(t, env, store, servers);
    const last = startCommand(t, { ...env, ...sealed.both }, 'secret-key', 'rotate');
    const { complete } = await last.line();
    assert.equal(complete, true);
    assert.equal(await last.exit, 0);
    await sealed.assertNoneOpens(store, sealed.firstKey);
    await sealed.assertAllOpen(store, sealed.secondKey);
    // The others go on with both keys: nodes are restarted one after another.
    await servers.end(0, 'SIGTERM');
    await servers.start(0, after);
    for (const url of servers.urls) await assertServes(url, pair);
  });
}

const name = `the sealing key is replaced, killed ${kills} times on the way (seed ${seed}): everything opens with the keys that are set`;

test(`${name}; one process`, options, async (t) => {
  const DATABASE_URL = `sqlite:${join(temporaryDirectory(t), 'namjai.db')}`;
  await rotateAmidKills(t, { ...sameIssuer, DATABASE_URL }, 1);
});

test(`${name}; two nodes`, { ...options, skip: skipWithoutRedis }, async (t) => {
  const { env } = await prepareNodes(t, 0);
  await rotateAmidKills(t, env, 2);
});

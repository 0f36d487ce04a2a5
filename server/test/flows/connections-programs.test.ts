import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { rounds } from '../../../sdk/test/rounds.ts';
import { until } from '../../../sdk/test/until.ts';
import { noRules } from '../../src/features/screening/rules.ts';
import type { Runtime } from '../../src/runtime.ts';
import { makeApp, makePair, type Pair } from '../factories.ts';
import { prepareNodes } from '../nodes.ts';
import { skipWithoutRedisServer } from '../redis.ts';
import { freePort, type ServerProcess, startServer } from '../server-process.ts';
import { withStore } from '../store.ts';
import { type Program, type ProgramName, passOn, skipWithoutPrograms, startPrograms } from '../stream-programs.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { postTips } from '../tip-load.ts';

const restarts = rounds(1);

/** Each by a key of its own: one key, one program. */
const names: readonly ProgramName[] = [
  'streamlabs-ws-client',
  'streamlabs-socket-client',
  'socket.io-client 2, polling first',
  'socket.io-client 2, polling only',
  'socket.io-client 2, websocket only',
  'socket.io-client 4, polling first',
  'socket.io-client 4, polling only',
  'socket.io-client 4, websocket only',
];

type Signal = 'SIGTERM' | 'SIGKILL';

/** A server that can be ended and started again at its address. */
interface Shape {
  readonly env: Record<string, string>;
  readonly port: number;
  /** Of two nodes that are restarted one after the other, the other one takes over before. */
  end(signal: Signal): Promise<void>;
  start(): Promise<void>;
}

interface Stage extends Shape {
  readonly pairs: readonly Pair[];
  readonly creatorId: string;
  readonly programs: readonly Program[];
}

/** In development a foreign `Host` is refused, and two programs send Streamlabs'. */
const settings = {
  BASE_URL: 'https://tips.example',
  AUTH_URL: 'https://tips.example',
  SECRET_KEY: 'a key that this test and its server share',
};

async function onSqlite(t: TestContext): Promise<Shape> {
  const env = { ...settings, DATABASE_URL: `sqlite:${join(temporaryDirectory(t), 'namjai.db')}` };
  const port = await freePort();
  let server: ServerProcess | undefined;
  t.after(() => server?.kill());
  return {
    env,
    port,
    end: (signal) => server!.kill(signal),
    async start() {
      server = await startServer({ env, port });
    },
  };
}

async function onPostgres(t: TestContext): Promise<Shape> {
  const { env, urls, start, node } = await prepareNodes(t, 2, settings);
  let active = 0;
  let isUp = false;
  const port = await startBalancer(t, () => Number(new URL(urls[active]!).port));
  return {
    env,
    port,
    async end(signal) {
      const ending = node(active);
      if (signal === 'SIGTERM') {
        await start(1 - active);
        active = 1 - active;
      } else isUp = false;
      await ending.kill(signal);
    },
    async start() {
      if (!isUp) await start(active);
      isUp = true;
    },
  };
}

/** Passes new connections on to one node; returns its port. */
async function startBalancer(t: TestContext, target: () => number): Promise<number> {
  const balancer = createServer((client) => passOn(client, connect({ port: target(), host: '127.0.0.1' })));
  balancer.listen(0, '127.0.0.1');
  await once(balancer, 'listening');
  t.after(() => balancer.close());
  return (balancer.address() as AddressInfo).port;
}

async function open(t: TestContext, shape: Shape): Promise<Stage> {
  const { pairs, keys } = await withStore(shape.env, async (runtime) => {
    const first = await makePair(runtime);
    // Ten tips a minute for each app.
    const others = await Promise.all(Array.from({ length: 10 * restarts + 10 }, () => otherApp(runtime, first)));
    const made: string[] = [];
    for (const name of names) made.push((await runtime.streamKeys.make(first.creatorId, { label: name }))!);
    return { pairs: [first, ...others], keys: made };
  });
  await shape.start();
  const processOfPrograms = await startPrograms(t, shape.port);
  const programs = names.map((name, i) => processOfPrograms.open(name, keys[i]!));
  await until(
    () => `all have connected: ${JSON.stringify(programs.map(({ clientEvents }) => clientEvents))}`,
    () => programs.every((program) => program.count('connect') > 0),
  );
  return { ...shape, pairs, creatorId: pairs[0]!.creatorId, programs };
}

const otherApp = async (runtime: Runtime, creator: Pair) => makePair(runtime, { creator, app: await makeApp(runtime) });

const everyone = (programs: readonly Program[], what: string, has: (program: Program) => boolean) =>
  until(
    () => `${what}; not yet at ${programs.filter((program) => !has(program)).map(({ name }) => name)}`,
    () => programs.every(has),
  );

async function hearsWhatMayBeShown({ env, port, pairs, creatorId, programs }: Stage): Promise<void> {
  const { headers } = pairs[0]!;
  const call = async (path: string, body: object) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    assert.equal(answer.ok, true, `${path}: ${answer.status}`);
    return (await answer.json()) as { id: string; alert?: { status: string } };
  };
  const hide = { id: 'hide', title: '', words: ['secret'], except: [], match: 'words', action: 'hide' } as const;
  const hold = { everything: false, newNames: false, fromMinor: 100_000 };
  await withStore(env, ({ screening }) => screening.change(creatorId, () => ({ ...noRules, lists: [hide], hold })));

  const plain = await call('/v1/tips', { amount: 20.5, name: 'SOMCHAI', message: 'สวัสดี <b>' });
  const hidden = await call('/v1/tips', { amount: 1, name: 'SOMSAK', message: 'a secret' });
  const held = await call('/v1/tips', { amount: 1000, name: 'HELD', message: 'later' });
  const rejected = await call('/v1/tips', { amount: 1000, name: 'REJECTED', message: 'never' });
  const alert = await call('/v1/alerts', { amount: 7, name: 'TESTER', message: 'a test' });
  await everyone(programs, 'the test alert has come', (program) => program.donations().length === 3);
  await withStore(env, async ({ overlays }) => {
    await overlays.reject(creatorId, rejected.id);
    await overlays.approve(creatorId, held.id);
  });
  await everyone(programs, 'the approved tip has come', (program) => program.donations().length === 4);
  for (const { id } of [plain, held]) await call(`/v1/tips/${id}/void`, { reason: 'other' });
  await everyone(programs, 'the deletions have come', (program) => program.deletions().length === 2);

  for (const program of programs) {
    const donations = program.donations();
    assert.deepEqual(
      donations.map(({ _id, name, amount, message, isTest }) => [_id, name, amount, message, isTest]),
      [
        [plain.id, 'SOMCHAI', '20.50', 'สวัสดี <b>', false],
        [hidden.id, 'SOMSAK', '1.00', '', false],
        [alert.id, 'TESTER', '7.00', 'a test', true],
        [held.id, 'HELD', '1000.00', 'later', false],
      ],
      program.name,
    );
    assert.deepEqual(program.deletions(), [donations[0]!.id, donations[3]!.id], program.name);
    assert.ok(!JSON.stringify(program.clientEvents).includes('secret'), program.name);
  }
  for (const program of programs.filter(({ name }) => name.startsWith('streamlabs')))
    assert.equal(program.count('donation'), 4, `${program.name} makes its own event of each`);
}

/** Tips before the server ends, meanwhile and while it is away; returns the ids of all, in their order. */
async function throughRestart(stage: Stage, signal: Signal): Promise<string[]> {
  const { env, port, pairs, creatorId, programs } = stage;
  const connects = new Map(programs.map((program) => [program, program.count('connect')]));
  const start = await withStore(env, async ({ events }) => (await events.head(creatorId))?.sequence ?? 0);
  const load = { count: 90, connections: 4 };
  let ended: Promise<void> | undefined;
  await postTips(`http://127.0.0.1:${port}`, pairs, {
    ...load,
    onRecorded: (recorded) => {
      if (recorded >= 40) ended ??= stage.end(signal);
    },
  });
  assert.ok(ended, 'tips were recorded');
  await ended;
  await withStore(env, async ({ tips }) => {
    const tip = { creatorId, app: null, amount: 500, name: 'MEANWHILE', displayName: null, message: null };
    for (let i = 0; i < 5; i += 1) await tips.record(tip);
  });
  await stage.start();
  await everyone(programs, 'all are back', (program) => program.count('connect') > connects.get(program)!);
  return withStore(env, async ({ tips, events }) => {
    const last = { creatorId, app: null, amount: 500, name: 'LAST', displayName: null, message: null };
    const { id } = (await tips.record(last)).tip;
    await everyone(programs, 'the last tip has come', (program) =>
      program.donations().some((donation) => donation._id === id),
    );
    const all = await events.after(creatorId, start, 1000);
    return all.map(({ body }) => JSON.parse(body).data.tip.id);
  });
}

for (const [shape, start, skip] of [
  ['SQLite', onSqlite, skipWithoutPrograms],
  ['PostgreSQL', onPostgres, skipWithoutPrograms || skipWithoutRedisServer],
] as const)
  test(`programs of others hear tips by stream keys, on ${shape}`, {
    skip,
    timeout: 1_200_000 + restarts * 60_000,
  }, async (t) => {
    const stage = await open(t, await start(t));
    await t.test('tips, test alerts, approved tips and deletions, and nothing that is held or hidden', () =>
      hearsWhatMayBeShown(stage),
    );
    await t.test(`planned restarts, ${restarts}, lose nothing and repeat nothing`, async () => {
      for (let restart = 0; restart < restarts; restart += 1) {
        const before = stage.programs.map((program) => program.donations().length);
        const ids = await throughRestart(stage, 'SIGTERM');
        for (const [i, program] of stage.programs.entries())
          assert.deepEqual(idsOf(program).slice(before[i]), ids, `${program.name}, restart ${restart}`);
      }
    });
    await t.test(`kill -9, ${restarts} times, loses nothing`, async () => {
      for (let restart = 0; restart < restarts; restart += 1) {
        const ids = await throughRestart(stage, 'SIGKILL');
        for (const program of stage.programs) {
          const seen = new Set(idsOf(program));
          const lost = ids.filter((id) => !seen.has(id));
          assert.deepEqual(lost, [], `${program.name}, kill ${restart}`);
        }
      }
    });
  });

const idsOf = (program: Program): string[] => program.donations().map(({ _id }) => _id);

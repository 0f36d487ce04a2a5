import { startPostgres } from '../../server/test/postgres.ts';
import { startRedisServer } from '../../server/test/redis.ts';
import { makePairs, withStore } from '../../server/test/store.ts';
import type { Bench } from '../lib/bench.ts';
import { compareRates, type Side } from '../lib/compare.ts';
import { roomPerRun } from '../lib/limits.ts';
import { createLoad } from '../lib/load.ts';
import { type StoreEnv, startNamjai, storeEnv } from '../lib/namjai.ts';
import { atLeast, type Row, reported } from '../lib/row.ts';
import { watch } from '../lib/shares.ts';

export const recordPostgres: Row = {
  name: 'record-postgres',
  title: 'POST /v1/tips on PostgreSQL',
  what: 'the same on PostgreSQL',
  measuredAs: 'requests/s ÷ the bare transaction from the same driver, no HTTP',
  goal: atLeast(0.6),
  lasts: { setup: 40, round: 6 },
  needs: ['postgres', 'redis'],
  async measure(bench) {
    const { env, pairs, tokens } = await sharedStore(bench);
    const ours = await startNamjai(bench, env);
    const bare = bench.start(new URL('../peers/bare-postgres.js', import.meta.url), { env });
    const load = createLoad(bench);
    await load.showTokens(ours.port, tokens);
    const creators = [...new Set(pairs.map(({ creatorId }) => creatorId))];
    const run = { creators, connections: 64, body: 'x'.repeat(550) };
    const posted = watch(
      await load.side('Namjai', ours.child, { ...posting, tokens, port: ours.port }, room(bench, tokens)),
      new Map([
        ['node', ours.child],
        ['load generator', load.child],
      ]),
    );
    const written = watch(
      {
        label: 'bare transaction',
        child: bare,
        divisible: true,
        run: (part) => bare.call('run', { ...run, seconds: bench.seconds * part }),
      },
      new Map([['driver', bare]]),
    );
    const measured = await compareRates(bench, { ours: posted.side, reference: written.side });
    return { ...measured, parts: [...measured.parts, ...posted.parts(), ...written.parts()] };
  },
};

export const nodes: Row = {
  name: 'nodes',
  title: 'Two nodes ÷ one',
  what: 'two nodes on PostgreSQL and Redis',
  measuredAs: 'aggregate of POST /v1/tips ÷ one node, same load generator budget',
  goal: reported,
  lasts: { setup: 40, round: 6 },
  needs: ['postgres', 'redis'],
  async measure(bench) {
    const { env, tokens } = await sharedStore(bench);
    const [first, second] = [await startNamjai(bench, env), await startNamjai(bench, env)];
    const load = createLoad(bench);
    for (const { port } of [first, second]) await load.showTokens(port, tokens);
    const side = (port: number, from: number, to: number, connections: number) =>
      load.side(
        `node ${port}`,
        first.child,
        { ...posting, connections, tokens: tokens.slice(from, to), port },
        room(bench, tokens.slice(from, to)),
      );
    const third = Math.floor(tokens.length / 3);
    const halves = [await side(first.port, 0, third, 32), await side(second.port, third, 2 * third, 32)] as const;
    const one = await side(first.port, 2 * third, tokens.length, 64);
    const both: Side = {
      ...one,
      label: 'two nodes',
      child: { ...first.child, cpu: async () => (await first.child.cpu()) + (await second.child.cpu()) },
      async run(part) {
        const [a, b] = await Promise.all([halves[0].run(part), halves[1].run(part)]);
        return { requests: a.requests + b.requests, seconds: Math.max(a.seconds, b.seconds) };
      },
    };
    const children = new Map([
      ['first node', first.child],
      ['second node', second.child],
      ['load generator', load.child],
    ]);
    const [two, alone] = [watch(both, children), watch({ ...one, label: 'one node' }, children)];
    const measured = await compareRates(bench, { ours: two.side, reference: alone.side });
    return { ...measured, parts: [...measured.parts, ...two.parts(), ...alone.parts()] };
  },
};

const posting = {
  kind: 'cycle',
  method: 'POST',
  path: '/v1/tips',
  body: { amount: 150.5, name: 'SOMCHAI', display_name: 'สมชาย', message: 'Great stream!' },
  connections: 64,
  status: 201,
} as const;

const room = (bench: Bench, tokens: readonly string[]): number => roomPerRun(bench, tokens.length, 'tips');

/** A PostgreSQL that flushes as it does by default, and a Redis. */
export async function sharedStores(bench: Bench): Promise<StoreEnv> {
  bench.progress('starting PostgreSQL and Redis');
  const postgres = await startPostgres({ fsync: 'on', full_page_writes: 'on', shared_buffers: '256MB' });
  bench.after(() => postgres.end());
  const redis = await startRedisServer();
  bench.after(() => redis.stop());
  return { ...storeEnv(postgres.url('postgres')), REDIS_URL: redis.url };
}

/** With pairs of 100 creators. */
async function sharedStore(bench: Bench) {
  const env = await sharedStores(bench);
  bench.progress('making apps, creators and tokens');
  const pairs = await withStore(env, (runtime) => makePairs(runtime, 100, bench.short ? 5 : 100));
  return { env, pairs, tokens: pairs.map(({ accessToken }) => accessToken) };
}

import { makeCreator } from '../../server/test/factories.ts';
import { makePairs, withStore } from '../../server/test/store.ts';
import { at } from '../lib/at.ts';
import type { Bench } from '../lib/bench.ts';
import { createLoad } from '../lib/load.ts';
import { newStore, startNamjai } from '../lib/namjai.ts';
import { atMost, type Row } from '../lib/row.ts';

export const heap: Row = {
  name: 'heap',
  title: 'Heap, 100,000th → millionth request',
  what: 'heap in use after a forced collection, from the 100,000th to the millionth request, over all kinds of them',
  measuredAs: 'growth',
  goal: atMost(5, ' %'),
  cheap: true,
  lasts: { setup: 200, round: 0 },
  async measure(bench) {
    const [step, last] = bench.short ? [1_000, 2_000] : [100_000, 1_000_000];
    const { server, send } = await activeServer(bench, { creators: 200, apps: bench.short ? 5 : 200, idle: 0 });
    const taken: number[] = [];
    for (let sent = 0; sent < last; sent += step) {
      bench.progress(`${sent.toLocaleString('en')} of ${last.toLocaleString('en')} requests`);
      await send(step);
      taken.push((await server.child.memory()).heapUsed / 1e6);
    }
    const [early, late] = [at(taken, 0), at(taken, -1)];
    return {
      values: [(late / early - 1) * 100],
      parts: [
        { label: `after ${step.toLocaleString('en')}`, unit: 'MB', values: [early] },
        { label: `after ${last.toLocaleString('en')}`, unit: 'MB', values: [late] },
        { label: 'on the way', unit: 'MB', values: taken },
      ],
    };
  },
};

export const idleCreators: Row = {
  name: 'idle-creators',
  title: 'Heap with 100,000 idle creators',
  what: 'heap in use with 100,000 creators who are not active',
  measuredAs: 'growth over none',
  goal: atMost(5, ' %'),
  lasts: { setup: 25, round: 0 },
  async measure(bench) {
    const taken: number[] = [];
    for (const idle of [0, bench.short ? 1_000 : 100_000]) {
      const { server, send } = await activeServer(bench, { creators: 100, apps: bench.short ? 5 : 50, idle });
      bench.progress(`loading it with ${idle.toLocaleString('en')} idle creators`);
      await send(bench.short ? 1_000 : 50_000);
      taken.push((await server.child.memory()).heapUsed / 1e6);
      await server.child.stop();
    }
    const [none, many] = [at(taken, 0), at(taken, 1)];
    return {
      values: [(many / none - 1) * 100],
      parts: [
        { label: 'without them', unit: 'MB', values: [none] },
        { label: 'with them', unit: 'MB', values: [many] },
      ],
    };
  },
};

/** What a hundred requests are made of; refreshes are the rest. `pairs` is how the pairs are shared out. */
const mix = [
  { share: 40, pairs: 60, method: 'GET', path: '/v1/me', status: 200 },
  { share: 15, pairs: 20, method: 'GET', path: '/v1/profile', status: 200 },
  { share: 10, pairs: 15, method: 'GET', path: '/v1/tips?limit=10', status: 200 },
  { share: 15, pairs: 20, method: 'GET', path: '/v1/tips/stats', status: 200 },
  { share: 3, pairs: 5, method: 'GET', path: '/v1/socket/token', status: 200 },
  { share: 10, pairs: 40, method: 'POST', path: '/v1/tips', status: 201, body: { amount: 20, name: 'SOMCHAI' } },
  { share: 3, pairs: 5, method: 'POST', path: '/v1/alerts', status: 201, body: {} },
  { share: 2, pairs: 5, method: 'GET', path: '/v1/nothing', status: 404 },
] as const;

/**
 * A server and a function that sends it requests of the mix. The limiter stores each request of the last minute by design,
 * and this row does not measure that. So there are many pairs of app and creator, each with requests of one kind and few a
 * minute, and all of them are used long before the first measurement.
 */
async function activeServer(bench: Bench, { creators, apps, idle }: { creators: number; apps: number; idle: number }) {
  bench.progress('making apps, creators and tokens');
  const env = newStore(bench);
  const pairs = await withStore(env, async (runtime) => {
    for (let made = 0; made < idle; made += 1_000)
      await Promise.all(Array.from({ length: 1_000 }, () => makeCreator(runtime)));
    return makePairs(runtime, creators, apps);
  });
  const server = await startNamjai(bench, env);
  const load = createLoad(bench);
  const target = { port: server.port, connections: 32 };
  const tokens = pairs.map(({ accessToken }) => accessToken);
  const shares = mix.reduce((sum, { pairs: own }) => sum + own, 0);
  const senders: { share: number; send: (count: number) => Promise<void> }[] = [];
  for (const { share, pairs: own, ...request } of mix) {
    const some = tokens.splice(0, Math.floor((own / shares) * pairs.length));
    senders.push({ share, send: await load.sender({ kind: 'cycle', ...target, ...request, tokens: some }) });
  }
  const chains = pairs
    .slice(0, target.connections)
    .map(({ clientId, clientSecret, refreshToken: token }) => ({ clientId, clientSecret, token }));
  const refresh = { kind: 'refresh', path: '/v1/oauth/token', form: 'json', status: 200, chains } as const;
  senders.push({ share: 2, send: await load.sender({ ...target, ...refresh }) });
  const send = async (count: number): Promise<void> => {
    for (const each of senders) await each.send((count * each.share) / 100);
  };
  return { server, send };
}

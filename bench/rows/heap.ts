import { makeCreator } from '../../server/test/factories.ts';
import { makePairs, withStore } from '../../server/test/store.ts';
import type { Bench } from '../lib/bench.ts';
import { createLoad } from '../lib/load.ts';
import { newStore, startNamjai } from '../lib/namjai.ts';
import { atMost, type Row } from '../lib/row.ts';

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;

export const heap: Row = {
  name: 'heap',
  what: 'heap in use after a forced collection, from the 100,000th to the millionth request',
  measuredAs: 'growth',
  goal: atMost(5, ' %'),
  async measure(bench) {
    const [early, late] = bench.short ? [500, 1_000] : [100_000, 1_000_000];
    const { server, send } = await activeServer(bench, { idleCreators: 0 });
    bench.progress(`${early.toLocaleString('en')} requests`);
    await send(early);
    const before = await server.child.memory();
    for (let sent = early; sent < late; sent += early) {
      bench.progress(`${sent.toLocaleString('en')} of ${late.toLocaleString('en')} requests`);
      await send(early);
    }
    const after = await server.child.memory();
    return {
      values: [(after.heapUsed / before.heapUsed - 1) * 100],
      parts: { early: megabytes(before.heapUsed), late: megabytes(after.heapUsed) },
    };
  },
};

export const idleCreators: Row = {
  name: 'idle-creators',
  what: 'heap in use with 100,000 creators who are not active',
  measuredAs: 'growth over none',
  goal: atMost(5, ' %'),
  async measure(bench) {
    const taken: number[] = [];
    for (const idle of [0, bench.short ? 1_000 : 100_000]) {
      const { server, send } = await activeServer(bench, { idleCreators: idle });
      await send(bench.short ? 500 : 50_000);
      taken.push((await server.child.memory()).heapUsed);
      await server.child.stop();
    }
    const [none, many] = taken;
    return {
      values: [(many! / none! - 1) * 100],
      parts: { 'without them': megabytes(none!), 'with them': megabytes(many!) },
    };
  },
};

/** A server with 100 active creators, and a way to send it so many requests over all routes that read. */
async function activeServer(bench: Bench, { idleCreators: idle }: { idleCreators: number }) {
  bench.progress('making apps, creators and tokens');
  const env = newStore(bench);
  const pairs = await withStore(env, async (runtime) => {
    for (let made = 0; made < idle; made += 1_000)
      await Promise.all(Array.from({ length: 1_000 }, () => makeCreator(runtime)));
    return makePairs(runtime, 100, bench.short ? 2 : 100);
  });
  const tokens = pairs.map(({ accessToken }) => accessToken);
  const server = await startNamjai(bench, env);
  const load = createLoad(bench);
  return { server, send: (count: number) => load.send(server.port, '/v1/me', tokens, count) };
}

/** What must not grow: the cost of one more app, socket or webhook endpoint with how many there are. */
import { makePairs, withStore } from '../../server/test/store.ts';
import { compareRates, compareValues } from '../lib/compare.ts';
import { fanOut, pairsOf, socketPaths, tip } from '../lib/fan-out.ts';
import { roomPerRun } from '../lib/limits.ts';
import { createLoad } from '../lib/load.ts';
import { newStore, startNamjai } from '../lib/namjai.ts';
import { atMost, type Row } from '../lib/row.ts';
import { startDeliveries, startReceiver } from './webhooks.ts';

export const apps: Row = {
  name: 'apps',
  title: 'A request, 2,000 apps ÷ 20',
  what: 'GET /v1/me with 2,000 apps in use',
  measuredAs: 'time ÷ with 20 apps in use, as many tokens',
  goal: atMost(1.2),
  lasts: { setup: 20, round: 6 },
  async measure(bench) {
    const load = createLoad(bench);
    const side = async (creators: number, count: number) => {
      bench.progress('making apps, creators and tokens');
      const env = newStore(bench);
      const pairs = await withStore(env, (runtime) => makePairs(runtime, creators, count));
      const tokens = pairs.map(({ accessToken }) => accessToken);
      const { child, port } = await startNamjai(bench, env);
      await load.showTokens(port, tokens);
      const spec = {
        kind: 'cycle',
        method: 'GET',
        path: '/v1/me',
        status: 200,
        connections: 64,
        port,
        tokens,
      } as const;
      return load.side(`${count.toLocaleString('en')} apps`, child, spec, roomPerRun(bench, pairs.length, 'read'));
    };
    const [few, many] = bench.short ? [5, 100] : [20, 2_000];
    return compareRates(
      bench,
      { ours: await side(2, many), reference: await side((2 * many) / few, few) },
      { as: 'time' },
    );
  },
};

export const sockets: Row = {
  name: 'sockets',
  title: 'A frame, 2,000 sockets ÷ 200',
  what: 'an event to one of 2,000 sockets',
  measuredAs: 'processor time for each frame ÷ with 200 sockets',
  goal: atMost(1.2),
  lasts: { setup: 5, round: 15 },
  async measure(bench) {
    const [few, many] = bench.short ? [1, 2] : [4, 40];
    const { env, pairs } = await pairsOf(bench, 1, many);
    const trigger = { path: '/v1/tips', status: 201, tokens: pairs.map(({ accessToken }) => accessToken), body: tip };
    const side = (count: number) => ({
      label: `${(count * 50).toLocaleString('en')} sockets`,
      async take() {
        const { child, port } = await startNamjai(bench, env);
        const paths = await socketPaths(port, pairs.slice(0, count));
        const { cpu, busy } = await fanOut(bench, child, { port, kind: 'namjai', paths, trigger });
        return { value: cpu, busy };
      },
    });
    return compareValues(bench, { ours: side(many), reference: side(few) }, 'µs of processor time for each frame');
  },
};

export const endpoints: Row = {
  name: 'endpoints',
  title: 'A delivery, 100 endpoints ÷ 1',
  what: 'webhook deliveries to 100 endpoints of as many apps',
  measuredAs: 'time ÷ as many deliveries to one endpoint',
  goal: atMost(1.2),
  lasts: { setup: 10, round: 6 },
  async measure(bench) {
    const { origin, receiver: generator } = await startReceiver(bench);
    const deliveries = bench.short ? 100 : 20_000;
    const side = async (count: number) => {
      const { child, deliver } = await startDeliveries(bench, { origin, endpoints: count });
      return { label: `endpoints: ${count}`, child, generator, run: () => deliver(deliveries) };
    };
    const sides = { ours: await side(bench.short ? 5 : 100), reference: await side(1) };
    return compareRates(bench, sides, { as: 'time', unit: 'deliveries/s' });
  },
};

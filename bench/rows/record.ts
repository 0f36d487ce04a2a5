import { makePairs, withStore } from '../../server/test/store.ts';
import { compareRates } from '../lib/compare.ts';
import { roomPerRun } from '../lib/limits.ts';
import { createLoad } from '../lib/load.ts';
import { newStore, startNamjai, startPeer } from '../lib/namjai.ts';
import { atLeast, type Row } from '../lib/row.ts';

export const record: Row = {
  name: 'record',
  title: 'POST /v1/tips, durable',
  what: 'POST /v1/tips, durable, 64 connections, 100 creators, metrics and access log on',
  measuredAs: 'requests/s ÷ a bare Fastify POST that validates and echoes the same body',
  goal: atLeast(0.55),
  cheap: true,
  lasts: { setup: 30, round: 6 },
  async measure(bench) {
    const env = newStore(bench);
    bench.progress('making apps, creators and tokens');
    const pairs = await withStore(env, (runtime) => makePairs(runtime, 100, bench.short ? 5 : 160));
    const tokens = pairs.map(({ accessToken }) => accessToken);
    const ours = await startNamjai(bench, env);
    const bare = await startPeer(bench, 'bare-fastify');
    const load = createLoad(bench);
    await load.showTokens(ours.port, tokens);
    const spec = {
      kind: 'cycle',
      method: 'POST',
      path: '/v1/tips',
      tokens,
      body: { amount: 150.5, name: 'SOMCHAI', display_name: 'สมชาย', message: 'Great stream!' },
      connections: 64,
      status: 201,
    } as const;
    return compareRates(bench, {
      ours: await load.side(
        'Namjai',
        ours.child,
        { ...spec, port: ours.port },
        roomPerRun(bench, pairs.length, 'tips'),
      ),
      reference: await load.side('bare Fastify', bare.child, { ...spec, port: bare.port }),
    });
  },
};

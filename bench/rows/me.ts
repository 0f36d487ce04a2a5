import { makePairs, withStore } from '../../server/test/store.ts';
import { at } from '../lib/at.ts';
import { compareRates } from '../lib/compare.ts';
import { roomPerRun } from '../lib/limits.ts';
import { createLoad } from '../lib/load.ts';
import { newStore, startNamjai, startPeer } from '../lib/namjai.ts';
import { atLeast, type Row } from '../lib/row.ts';

export const me: Row = {
  name: 'me',
  title: 'GET /v1/me',
  what: 'GET /v1/me, whole path, 100 creators, metrics and access log on',
  measuredAs: 'requests/s ÷ a bare Fastify route returning the same JSON',
  goal: atLeast(0.75),
  cheap: true,
  lasts: { setup: 20, round: 6 },
  async measure(bench) {
    const env = newStore(bench);
    bench.progress('making apps, creators and tokens');
    const pairs = await withStore(env, (runtime) => makePairs(runtime, 100, bench.short ? 2 : 40));
    const tokens = pairs.map(({ accessToken }) => accessToken);
    const ours = await startNamjai(bench, env);
    const answer = await fetch(`http://127.0.0.1:${ours.port}/v1/me`, { headers: at(pairs, 0).headers });
    const bare = await startPeer(bench, 'bare-fastify', { ME: await answer.text() });
    const load = createLoad(bench);
    await load.showTokens(ours.port, tokens);
    const spec = { kind: 'cycle', method: 'GET', path: '/v1/me', tokens, connections: 64, status: 200 } as const;
    return compareRates(bench, {
      ours: await load.side(
        'Namjai',
        ours.child,
        { ...spec, port: ours.port },
        roomPerRun(bench, pairs.length, 'read'),
      ),
      reference: await load.side('bare Fastify', bare.child, { ...spec, port: bare.port }),
    });
  },
};

import { makeApp, makePair } from '../../server/test/factories.ts';
import { withStore } from '../../server/test/store.ts';
import { at } from '../lib/at.ts';
import type { Bench } from '../lib/bench.ts';
import { compareRates } from '../lib/compare.ts';
import { roomPerRun } from '../lib/limits.ts';
import { createLoad } from '../lib/load.ts';
import { type StoreEnv, startNamjai, startPeer } from '../lib/namjai.ts';
import { atLeast, atMost, type Row } from '../lib/row.ts';
import { seededStore } from '../lib/seeded.ts';

export const tips: Row = {
  name: 'tips',
  title: 'GET /v1/tips, 50 of 100,000',
  what: 'GET /v1/tips?limit=50 of a creator with 100,000 tips',
  measuredAs: 'requests/s ÷ a bare Fastify route that reads the same 50 rows with one prepared statement',
  goal: atLeast(0.75),
  cheap: true,
  lasts: { setup: 15, round: 6 },
  async measure(bench) {
    const { file, env, people } = await seededStore(bench, { tips: bench.short ? 1_000 : 100_000, creators: 1 });
    const creator = at(people, 0);
    const tokens = await tokensFor(bench, env, creator, 1_000);
    const ours = await startNamjai(bench, env);
    const bare = await startPeer(bench, 'bare-fastify', { DATABASE_FILE: file, CREATOR_ID: creator.creatorId });
    const load = createLoad(bench);
    await load.showTokens(ours.port, tokens);
    const spec = { ...reading, path: '/v1/tips?limit=50', tokens };
    return compareRates(bench, {
      ours: await load.side(
        'Namjai',
        ours.child,
        { ...spec, port: ours.port },
        roomPerRun(bench, tokens.length, 'read'),
      ),
      reference: await load.side('bare Fastify', bare.child, { ...spec, port: bare.port }),
    });
  },
};

export const page: Row = {
  name: 'page',
  title: 'Page 1,000 ÷ page 1',
  what: 'page 1,000 of GET /v1/tips',
  measuredAs: 'time ÷ page 1',
  goal: atMost(1.2),
  cheap: true,
  lasts: { setup: 15, round: 6 },
  async measure(bench) {
    const { env, people } = await seededStore(bench, { tips: bench.short ? 1_000 : 100_000, creators: 1 });
    const tokens = await tokensFor(bench, env, at(people, 0), 2_000);
    const ours = await startNamjai(bench, env);
    const load = createLoad(bench);
    await load.showTokens(ours.port, tokens);
    const cursor = await cursorOfPage(bench, ours.port, tokens, bench.short ? 10 : 1_000);
    const half = tokens.length / 2;
    const spec = { ...reading, port: ours.port };
    const room = roomPerRun(bench, half, 'read');
    return compareRates(
      bench,
      {
        ours: await load.side(
          'page 1,000',
          ours.child,
          { ...spec, path: `/v1/tips?limit=50&cursor=${cursor}`, tokens: tokens.slice(0, half) },
          room,
        ),
        reference: await load.side(
          'page 1',
          ours.child,
          { ...spec, path: '/v1/tips?limit=50', tokens: tokens.slice(half) },
          room,
        ),
      },
      { as: 'time' },
    );
  },
};

export const stats: Row = {
  name: 'stats',
  title: 'Statistics, 10 million tips ÷ 100',
  what: 'GET /v1/tips/stats with 10 million tips in the store',
  measuredAs: 'time ÷ with 100 tips',
  goal: atMost(1.2),
  cheap: true,
  lasts: { setup: 80, round: 6 },
  async measure(bench) {
    const load = createLoad(bench);
    const side = async (label: string, count: number, creators: number) => {
      const { env, people } = await seededStore(bench, { tips: count, creators });
      const tokens = await tokensFor(bench, env, at(people, 0), 3_000);
      const { child, port } = await startNamjai(bench, env);
      await load.showTokens(port, tokens);
      const spec = { ...reading, port, path: '/v1/tips/stats', tokens };
      return load.side(label, child, spec, roomPerRun(bench, tokens.length, 'read'));
    };
    return compareRates(
      bench,
      {
        ours: await side(bench.short ? '10,000 tips' : '10 million tips', bench.short ? 10_000 : 10_000_000, 100),
        reference: await side('100 tips', 100, 1),
      },
      { as: 'time' },
    );
  },
};

const reading = { kind: 'cycle', method: 'GET', connections: 64, status: 200 } as const;

/** Tokens of as many apps for one creator. */
async function tokensFor(
  bench: Bench,
  env: StoreEnv,
  creator: { creatorId: string; username: string },
  wanted: number,
): Promise<string[]> {
  bench.progress('making apps and tokens');
  const count = bench.short ? 100 : wanted;
  return withStore(env, async (runtime) => {
    const apps = await Promise.all(Array.from({ length: count }, () => makeApp(runtime)));
    const pairs = await Promise.all(apps.map((app) => makePair(runtime, { creator, app })));
    return pairs.map(({ accessToken }) => accessToken);
  });
}

async function cursorOfPage(bench: Bench, port: number, tokens: readonly string[], wanted: number): Promise<string> {
  let cursor: string | null = null;
  for (let at = 1; at < wanted; at++) {
    if (at % 100 === 0) bench.progress(`turning to page ${at} of ${wanted}`);
    const query: string = cursor === null ? '' : `&cursor=${cursor}`;
    const answer = await fetch(`http://127.0.0.1:${port}/v1/tips?limit=50${query}`, {
      headers: { authorization: `Bearer ${tokens[at % tokens.length]}` },
    });
    cursor = ((await answer.json()) as { next_cursor: string | null }).next_cursor;
    if (cursor === null) throw new Error(`the history ends on page ${at}`);
  }
  return cursor ?? '';
}

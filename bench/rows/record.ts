import { join } from 'node:path';
import { makePairs, withStore } from '../../server/test/store.ts';
import type { Bench } from '../lib/bench.ts';
import { compareRates } from '../lib/compare.ts';
import { roomPerRun } from '../lib/limits.ts';
import { createLoad } from '../lib/load.ts';
import { newStore, startNamjai, startPeer } from '../lib/namjai.ts';
import { atLeast, type Measured, type Row } from '../lib/row.ts';

export const record: Row = {
  name: 'record',
  title: 'POST /v1/tips, durable',
  what: 'POST /v1/tips, durable, 64 connections, 100 creators, metrics and access log on',
  measuredAs: 'requests/s ÷ a bare Fastify POST that validates and echoes the same body',
  goal: atLeast(0.55),
  cheap: true,
  lasts: { setup: 30, round: 6 },
  measure: (bench) => measure(bench, { label: 'bare Fastify', file: 'bare-fastify' }),
};

export const recordDurable: Row = {
  name: 'record-durable',
  title: 'POST /v1/tips ÷ as durable',
  what: 'POST /v1/tips, as in `record`',
  measuredAs:
    'requests/s ÷ the simplest Fastify route that keeps the same promise: one row a tip, flushed, shared commits',
  goal: atLeast(0.7),
  cheap: true,
  lasts: { setup: 30, round: 6 },
  measure: (bench) => measure(bench, { label: 'durable Fastify', file: 'durable-fastify' }),
};

async function measure(bench: Bench, peer: { readonly label: string; readonly file: string }): Promise<Measured> {
  const env = newStore(bench);
  bench.progress('making apps, creators and tokens');
  const pairs = await withStore(env, (runtime) => makePairs(runtime, 100, bench.short ? 5 : 160));
  const tokens = pairs.map(({ accessToken }) => accessToken);
  const ours = await startNamjai(bench, env);
  const bare = await startPeer(bench, peer.file, { STORE_FILE: join(bench.directory, 'peer.db') });
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
    ours: await load.side('Namjai', ours.child, { ...spec, port: ours.port }, roomPerRun(bench, pairs.length, 'tips')),
    reference: await load.side(peer.label, bare.child, { ...spec, port: bare.port }),
  });
}

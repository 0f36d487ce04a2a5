import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { openPostgres } from '../../src/platform/db/postgres.ts';
import { databaseConformance } from '../conformance/database.ts';
import { assertLedger } from '../ledger.ts';
import { prepareNodes } from '../nodes.ts';
import { poolMode, skipWithoutPgbouncer, startPgbouncer } from '../pgbouncer.ts';
import { freshDatabase } from '../postgres.ts';
import { skipWithoutRedisServer } from '../redis.ts';
import { makePairs, withStore } from '../store.ts';
import { postEveryTip } from '../tip-load.ts';

let bouncer: ReturnType<typeof startPgbouncer> | undefined;
const endings: (() => unknown)[] = [];
after(async () => {
  for (const end of endings.reverse()) await end();
});

// In session mode PgBouncer changes nothing between a connection's first statement and its end.
if (poolMode === 'transaction')
  databaseConformance(`PostgreSQL behind PgBouncer in ${poolMode} mode`, async (t) => {
    const direct = await freshDatabase(t);
    bouncer ??= startPgbouncer({ after: (end) => void endings.push(end as () => unknown) }, direct);
    const url = (await bouncer)(new URL(direct).pathname.slice(1));
    const db = openPostgres({ url, withinMs: 60_000 });
    t.after(() => db.close());
    return db;
  });

describe('nodes behind PgBouncer', { skip: skipWithoutPgbouncer || skipWithoutRedisServer }, () => {
  test(`start together, and record each tip once (${poolMode} mode)`, async (t) => {
    // Without the demo world, whose tips are of earlier months.
    const nodes = await prepareNodes(t, 3, { NODE_ENV: 'production' });
    const url = await startPgbouncer(t, nodes.postgres.url('postgres'));
    nodes.env.DATABASE_URL = url('postgres');
    await Promise.all([0, 1, 2].map(nodes.start));
    const pairs = await withStore(nodes.env, (runtime) => makePairs(runtime, 10, 10));
    const { ids, refusals } = await postEveryTip(nodes.urls, pairs, { count: 300, connections: 24, lastsMs: 0 });
    assert.equal(refusals.get(500), undefined);
    assert.deepEqual(await withStore(nodes.env, ({ db }) => assertLedger(db)), ids);
  });
});

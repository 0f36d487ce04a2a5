import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import pg from 'pg';
import { allTips } from '../../src/features/tips/index.ts';
import { buildApp, onNodes } from '../build-app.ts';
import { makePair } from '../factories.ts';

const guide = readFileSync(new URL('../../../docs/scaling.md', import.meta.url), 'utf8');
/** What the guide tells an operator to run. */
const partition = /```sql\n(BEGIN;[\s\S]*?COMMIT;)\n```/.exec(guide)![1]!;

test('history that is split by time, as the guide says, is recorded, read, replayed and forgotten as before', {
  skip: !onNodes && 'partitions are PostgreSQL’s',
}, async (t) => {
  const app = await buildApp(t);
  const { creatorId, clientId } = await makePair(app.runtime);
  const record = (idempotencyKey: string) =>
    app.runtime.tips.record({
      creatorId,
      app: { id: clientId, name: 'App' },
      amount: 1,
      name: 'SPLIT',
      displayName: null,
      message: null,
      idempotencyKey,
    });
  const first = await record('before');
  const operator = new pg.Client({ connectionString: app.env.DATABASE_URL! });
  await operator.connect();
  await operator.query(partition);
  await operator.end();

  assert.deepEqual(await record('before'), { ...first, replayed: true });
  const made = [first.tip.id];
  for (const [key, at] of [
    ['old', '2026-12-31T16:59:59.999Z'],
    ['new', '2026-12-31T17:00:00.000Z'],
    ['later', '2030-01-01T00:00:00.000Z'],
  ] as const) {
    app.clock.set(at);
    made.push((await record(key)).tip.id);
    assert.equal((await record(key)).replayed, true);
  }
  const { tips } = await app.runtime.tips.page(creatorId, allTips, null, 10);
  assert.deepEqual(tips.map(({ id }) => id).reverse(), made);
  const counts = await app.runtime.db.all<{ part: string; n: number }>(
    'SELECT CAST(tableoid::regclass AS TEXT) AS part, COUNT(*) AS n FROM tips GROUP BY 1 ORDER BY 1',
  );
  assert.deepEqual(
    counts.map(({ part, n }) => [part, n]),
    [
      ['tips_2027', 1],
      ['tips_later', 1],
      ['tips_until_2027', 2],
    ],
  );
  assert.equal((await app.runtime.events.after(creatorId, 0, 10)).length, 4);
  assert.equal(await app.runtime.events.prune(), 3, 'events older than 30 days are forgotten');
  assert.equal((await app.runtime.events.after(creatorId, 0, 10)).length, 1);
});

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { buildApp } from '../../../test/build-app.ts';
import { makeCreator } from '../../../test/factories.ts';
import { makeManyTips } from '../../../test/many-tips.ts';
import { execute } from '../../../test/sql.ts';
import { signedInVisitor } from '../../../test/visitor.ts';

async function open(t: TestContext, tips: number) {
  const app = await buildApp(t);
  const { runtime } = app;
  const creator = async (count: number) => {
    const made = await makeCreator(runtime);
    await makeManyTips(runtime, made.creatorId, count);
    return { ...made, visitor: await signedInVisitor(app, made.creatorId) };
  };
  return { ...app, creator, ...(await creator(tips)) };
}

const noHit = '/dashboard/tips?q=nothing+has+this';

test('security 41: a look at the dashboard reads the same of a long history as of a short one, and sums it in pieces', async (t) => {
  const { runtime, creator } = await open(t, 1);
  const reads: number[][] = [];
  for (const tips of [100, 30_000]) {
    const { visitor } = await creator(tips);
    const counts: number[] = [];
    for (let looks = 0; looks < 2; looks++) {
      const all = t.mock.method(runtime.db, 'all');
      assert.equal((await visitor.get('/dashboard')).statusCode, 200);
      counts.push(all.mock.callCount());
      all.mock.restore();
    }
    reads.push(counts);
  }
  const [[, short], [first, long]] = reads as [[number, number], [number, number]];
  assert.equal(long, short, 'every look after the first');
  assert.ok(first >= 15, `the first in ${first} pieces`);
});

test('security 41: looks at once sum a long history once, and are answered in turn', async (t) => {
  const { runtime, creator } = await open(t, 1);
  const pieces: number[] = [];
  for (const looks of [1, 16]) {
    const { visitor } = await creator(30_000);
    const all = t.mock.method(runtime.db, 'all');
    const statuses: number[] = [];
    const answers = Promise.all(
      Array.from({ length: looks }, async () => statuses.push((await visitor.get('/dashboard')).statusCode)),
    );
    let most = 0;
    for (let before = 0; statuses.length < looks; before = statuses.length) {
      await Promise.race([nextIteration(), answers]);
      most = Math.max(most, statuses.length - before);
    }
    assert.deepEqual(new Set(statuses), new Set([200]));
    assert.ok(most <= 1, `${most} of ${looks} in one iteration of the event loop`);
    pieces.push(all.mock.calls.filter(({ arguments: [sql] }) => JSON.stringify(sql).includes('totalMinor')).length);
    all.mock.restore();
  }
  const [one = 0, together = 0] = pieces;
  // After the sum each reads what came after the newest event: one piece.
  assert.ok(one >= 15 && together <= one + 16, `${one} for one look, ${together} for sixteen`);
});

test('security 41: a dashboard is looked at 300 times a minute', async (t) => {
  const { visitor, clock } = await open(t, 1);
  for (let looks = 0; looks < 300; looks++) assert.equal((await visitor.get('/dashboard')).statusCode, 200);
  const refused = await visitor.get('/dashboard');
  assert.deepEqual([refused.statusCode, refused.headers['retry-after']], [429, '60']);
  clock.advance(60_000);
  assert.equal((await visitor.get('/dashboard')).statusCode, 200);
});

test('security 41: a search is counted by what it reads', async (t) => {
  const { visitor, clock } = await open(t, 12_000);
  // Two for the page and nine for each thousand after the first: eleven of 120.
  for (let i = 0; i < 10; i++) assert.match((await visitor.get(noHit)).body, /Search further/);
  const cut = await visitor.get(noHit);
  assert.equal(cut.statusCode, 200, 'what is left is enough to begin');
  assert.match(cut.body, /Search further/, 'and to go on from there later');
  const refused = await visitor.get(noHit);
  assert.deepEqual([refused.statusCode, refused.headers['retry-after']], [429, '60']);
  clock.advance(60_000);
  assert.equal((await visitor.get(noHit)).statusCode, 200);
});

test('security 41: an export is counted by the length of the history', async (t) => {
  const { visitor, runtime, creatorId } = await open(t, 5);
  await execute(runtime.db, 'UPDATE creator_heads SET tip_count = 100000 WHERE creator_id = $1', [creatorId]);
  for (let i = 0; i < 3; i++) assert.equal((await visitor.get('/dashboard/tips.csv')).statusCode, 200);
  const refused = await visitor.get('/dashboard/tips.csv');
  assert.deepEqual([refused.statusCode, refused.headers['retry-after']], [429, '60']);
});

test('security 41: searches and exports read two at a time; when too many wait the next get 429', async (t) => {
  const { runtime, creator } = await open(t, 1);
  const creators = await Promise.all(Array.from({ length: 50 }, () => creator(300)));
  let [running, most] = [0, 0];
  const { all } = runtime.db;
  t.mock.method(runtime.db, 'all', async (...args: Parameters<typeof all>) => {
    if (!String(args[0]).includes('FROM tips')) return all(...args);
    running += 1;
    most = Math.max(most, running);
    await nextIteration();
    running -= 1;
    return all(...args);
  });
  const answers = await Promise.all(
    creators.map(({ visitor }, i) => visitor.get(i % 2 ? noHit : '/dashboard/tips.csv?q=nothing')),
  );
  assert.equal(most, 2);
  const statuses = answers.map(({ statusCode }) => statusCode);
  assert.equal(statuses.filter((status) => status === 200).length, 32, 'two that read, thirty that wait');
  assert.equal(statuses.filter((status) => status === 429).length, 18);
  assert.equal((await creators[0]!.visitor.get(noHit)).statusCode, 200, 'later there is room again');
});

test('security 41: texts that cost much to compare or to write let others run between two of them', async (t) => {
  const { runtime, visitor, creator } = await open(t, 1);
  assert.equal((await visitor.get(noHit)).statusCode, 200);
  const { visitor: other, creatorId } = await creator(500);
  await execute(runtime.db, 'UPDATE tips SET message = $2 WHERE creator_id = $1', [creatorId, '\ufdfa'.repeat(255)]);
  // Whatever is measured takes a millisecond.
  let time = performance.now();
  const mock = t.mock.method(performance, 'now', () => (time += 1));
  for (const url of [noHit, '/dashboard/tips.csv']) {
    let [iterations, done] = [0, false];
    const answer = other.get(url).finally(() => (done = true));
    for (; !done; iterations += 1) await nextIteration();
    assert.equal((await answer).statusCode, 200);
    assert.ok(iterations >= 500, `${url}: ${iterations} iterations of the event loop for 500 tips`);
  }
  mock.mock.restore();
});

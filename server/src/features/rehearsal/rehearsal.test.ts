import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { seed, seeded } from '../../../../sdk/test/seeded.ts';
import { until } from '../../../../sdk/test/until.ts';
import type { TestClock } from '../../../test/build-app.ts';
import { makeApp, makePair } from '../../../test/factories.ts';
import { makeManyTips } from '../../../test/many-tips.ts';
import {
  everythingStored,
  hour,
  minute,
  openRehearsalOverlay,
  type RehearsalFrame,
  tipsAt,
} from '../../../test/rehearsals.ts';
import { connect, listen, range, socketToken } from '../../../test/sockets.ts';
import { type Database, StorageUnavailable } from '../../platform/db/database.ts';
import { textFor } from '../../platform/db/statement.ts';
import { allScopes } from '../oauth/index.ts';
import { allTips } from '../tips/index.ts';
import { createRehearsalWorker } from './index.ts';
import { stepsAfter } from './repo.ts';
import { createViewers } from './viewers.ts';

type Alert = RehearsalFrame['alerts'][number];

const evening = Date.parse('2026-11-14T12:00:00Z');

async function setUp(t: TestContext) {
  const app = await listen(t);
  const { runtime, clock } = app;
  const pair = await makePair(runtime);
  const { creatorId } = pair;
  const later = () => clock.set(evening + 20 * hour);
  const worker = (parts: Partial<Parameters<typeof createRehearsalWorker>[0]> = {}) =>
    createRehearsalWorker({ ...runtime, steady: clock, ...parts });
  const overlay = async (protocol?: number) =>
    openRehearsalOverlay(t, app.address, await runtime.overlays.key(creatorId), protocol);
  const start = (from: number, to: number, pace: number) => runtime.rehearsals.start(creatorId, { from, to }, pace);
  const steps = (count = 1000) => stepsAfter(runtime.db, creatorId, 0, count);
  const current = async () => {
    const row = await runtime.rehearsals.current(creatorId);
    assert.ok(row);
    return row;
  };
  return { ...app, pair, creatorId, later, worker, overlay, start, steps, current };
}

/** A wait that ends when the test says so, but for the short one before the first alert. */
function gates(clock: TestClock) {
  const waiting: (() => void)[] = [];
  return {
    async wait(ms: number): Promise<void> {
      if (ms <= 500) return clock.advance(ms);
      await new Promise<void>((resolve) => void waiting.push(resolve));
    },
    waiting,
    release: () => {
      for (const resolve of waiting.splice(0)) resolve();
    },
  };
}

test(`500 tips of four hours at 100 times their pace: in order, each at its time, and nothing else changes (TEST_SEED=${seed})`, async (t) => {
  const { runtime, clock, pair, creatorId, address, later, worker, overlay, start, steps, current, ...app } =
    await setUp(t);
  const random = seeded(seed);
  const times = Array.from({ length: 500 }, () => evening + Math.floor(random() * 4 * hour)).sort((a, b) => a - b);
  const ids = await tipsAt({ runtime, clock }, creatorId, times);
  later();
  const page = await overlay();
  const token = await socketToken({ ...app, runtime, clock }, await makePair(runtime, { creator: pair }));
  const appSocket = connect(t, address, { token });
  await appSocket.frame(1);
  const before = await everythingStored(runtime.db);
  const row = await start(evening, evening + 4 * hour, 100);
  assert.ok(typeof row === 'object' && row.total === 500);
  await worker().idle();

  const { status, played, started_at } = await current();
  assert.deepEqual({ status, played }, { status: 'finished', played: 500 });
  const done = await steps();
  assert.deepEqual(
    done.map(({ tip_id }) => tip_id),
    ids,
    'in the order of the evening',
  );
  assert.deepEqual(
    done.map(({ played_at }) => played_at - (started_at ?? 0)),
    times.map((at) => Math.ceil((at - evening) / 100)),
    'at a hundredth of the time',
  );
  assert.deepEqual(await everythingStored(runtime.db), before, 'no status, total, event or history has changed');
  await until('the overlay has heard of the end', () => page.status() === 'finished');
  assert.deepEqual(
    page.alerts().map(({ n }) => n),
    range(1, 500),
  );
  assert.deepEqual(
    page.alerts().map(({ event }) => event.data.tip.id),
    ids,
  );
  assert.ok(page.alerts().every(({ event }) => event.type === 'alert.replayed' && event.test && event.replay));
  assert.ok(page.frames.every(({ pace }) => pace === 100));
  const { tip } = await runtime.tips.record({
    creatorId,
    app: null,
    amount: 1,
    name: 'REAL',
    displayName: null,
    message: null,
  });
  await until('the app hears of the next tip', () => appSocket.sequences().length > 0);
  assert.deepEqual(appSocket.sequences(), [501], 'the app saw no alert of the rehearsal, and no gap');
  assert.ok(tip.id);
});

test(`late alerts follow at once, in order, and none is lost (TEST_SEED=${seed})`, async (t) => {
  const { runtime, clock, creatorId, later, worker, start, steps } = await setUp(t);
  const random = seeded(seed + 1);
  const times = Array.from({ length: 300 }, () => evening + Math.floor(random() * hour)).sort((a, b) => a - b);
  const ids = await tipsAt({ runtime, clock }, creatorId, times);
  later();
  await start(evening, evening + hour, 60);
  const wait = async (ms: number) => clock.advance(ms + (random() < 0.1 ? Math.floor(random() * 8000) : 0));
  await worker({ wait }).idle();
  assert.deepEqual(
    (await steps()).map(({ tip_id }) => tip_id),
    ids,
  );
});

test(`lateness does not add up, and a wall clock that is set changes no gap (TEST_SEED=${seed})`, async (t) => {
  const { runtime, clock, creatorId, later, worker, start } = await setUp(t);
  const [count, pace, latest] = [250, 100, 100];
  const random = seeded(seed + 2);
  const times = range(0, count - 1).map((n) => evening + n * 30_000);
  await tipsAt({ runtime, clock }, creatorId, times);
  later();
  let now = 1000.5;
  const lateBy = () => Math.floor((random() * latest) / 2);
  const wait = async (ms: number) => {
    now += ms + lateBy();
    clock.advance(ms + (random() < 0.05 ? hour : 0));
  };
  const played: number[] = [];
  const write: Database['write'] = async (write, ...args) => {
    const answer = await runtime.db.write(write, ...args);
    if (write.name !== 'step') return answer;
    now += lateBy();
    played.push(now);
    return answer;
  };
  await start(evening, evening + count * 30_000, pace);
  const leadMs = 500;
  const startsAt = now + leadMs;
  await worker({ steady: () => now, wait, db: { ...runtime.db, write } }).idle();
  assert.equal(played.length, count, 'each by itself');
  const late = played.map((at, n) => at - startsAt - (n * 30_000) / pace);
  assert.ok(
    late.every((ms) => ms >= 0 && ms < latest + 1),
    `late by ${late.map(Math.round).join(' ')}`,
  );
});

test('held, rejected, blocked and voided tips are not played, and hidden words stay hidden', async (t) => {
  const { runtime, clock, creatorId, later, worker, overlay, start } = await setUp(t);
  const { overlays, screening, tips } = runtime;
  const hold = (everything: boolean) =>
    screening.change(creatorId, (rules) => ({ ...rules, hold: { ...rules.hold, everything } }));
  const tip = async (message: string, at: number, name = 'SOMCHAI') => {
    clock.set(evening + at);
    return (await tips.record({ creatorId, app: null, amount: 20, name, displayName: null, message })).tip.id;
  };
  await screening.change(creatorId, (rules) => ({
    ...rules,
    blockedNames: ['NOBODY'],
    lists: [{ id: 'own', title: 'Own', words: ['durian'], except: [], match: 'words', action: 'hide' }],
  }));
  await tip('first', 0);
  await tip('a durian', minute);
  const voided = await tip('voided', 2 * minute);
  await hold(true);
  const approved = await tip('approved', 3 * minute);
  const rejected = await tip('rejected', 4 * minute);
  await tip('held', 5 * minute);
  await hold(false);
  await tip('blocked', 5 * minute, 'NOBODY');
  await tip('second', 6 * minute);
  clock.set(evening + 7 * minute);
  await overlays.approve(creatorId, approved);
  await overlays.reject(creatorId, rejected);
  const late = await tip('voided while it plays', 8 * minute);
  await tip('last', 9 * minute);
  clock.set(evening + hour);
  await tips.void(creatorId, voided, { clientId: null, reason: null });
  later();
  const page = await overlay();
  await start(evening, evening + 10 * minute, 10);
  const wait = async (ms: number) => {
    clock.advance(ms);
    if ((await tips.byId(creatorId, late)).status === 'recorded')
      await tips.void(creatorId, late, { clientId: null, reason: null });
  };
  await worker({ wait }).idle();
  await until('it is over', () => page.status() === 'finished');
  assert.deepEqual(
    page.alerts().map(({ event }) => event.data.tip.message),
    ['first', null, 'second', 'approved', 'last'],
    'a held tip came when it was approved',
  );
});

test('one at a time, stopped at once on every overlay, and only for pages that were open', async (t) => {
  const { runtime, clock, creatorId, later, worker, overlay, start, current } = await setUp(t);
  await tipsAt(
    { runtime, clock },
    creatorId,
    range(0, 9).map((n) => evening + n * minute),
  );
  later();
  const page = await overlay();
  const old = await overlay(2);
  const gate = gates(clock);
  const playing = worker({ wait: gate.wait });
  const first = await start(evening, evening + hour, 1);
  assert.ok(typeof first === 'object');
  await playing.poll();
  await until('the first alert is played', () => page.alerts().length === 1 && gate.waiting.length === 1);
  assert.equal(await start(evening, evening + hour, 1), 'another');

  clock.advance(1);
  const newcomer = await overlay();
  clock.advance(minute);
  gate.release();
  await until('the second is played', () => page.alerts().length === 2 && newcomer.alerts().length === 1);
  assert.deepEqual(
    newcomer.alerts().map(({ n }) => n),
    [2],
    'it does not see what was played before',
  );
  await until('it waits for the third', () => gate.waiting.length === 1);
  assert.equal(await runtime.rehearsals.stop(creatorId), true);
  await until('both are told', () => page.status() === 'stopped' && newcomer.status() === 'stopped');
  clock.advance(hour);
  gate.release();
  await playing.idle();
  const { status, played } = await current();
  assert.deepEqual({ status, played }, { status: 'stopped', played: 2 });
  assert.equal(await runtime.rehearsals.stop(creatorId), false);
  assert.equal(page.alerts().length, 2);
  assert.deepEqual(old.frames, [], 'a page from before knows no rehearsals');
  assert.equal((await runtime.presence.open(creatorId)).outdated, 1);

  const again = await start(evening, evening + hour, 100);
  assert.ok(typeof again === 'object' && again.id > first.id);
  await playing.poll();
  await until('the next begins anew', () => page.frames.at(-1)?.id === again.id && page.alerts().at(-1)?.n === 1);
});

test('a page gets what is played after it connected, however late the log is first read for it', async (t) => {
  const { runtime, clock, creatorId, later, worker, start, steps } = await setUp(t);
  await tipsAt({ runtime, clock }, creatorId, [evening, evening + minute, evening + 2 * minute]);
  later();
  await start(evening, evening + hour, 1);
  await worker({ wait: async (ms) => clock.advance(ms) }).idle();
  const viewers = createViewers({ ...runtime, encodeFrame: (frame) => Buffer.from(JSON.stringify(frame)) });
  const pages = [0, ...(await steps()).map(({ played_at }) => played_at + 1)].map((since) => {
    const frames: RehearsalFrame[] = [];
    const sendFrame = (frame: Buffer) => void frames.push(JSON.parse(String(frame)));
    t.after(viewers.open(creatorId, { sendFrame, buffered: 0 }, since));
    return frames;
  });
  await until('all but the last have heard of the end', () =>
    pages.slice(0, -1).every((frames) => frames.at(-1)?.status === 'finished'),
  );
  const numbers = pages.map((frames) => frames.flatMap(({ alerts }) => alerts.map(({ n }) => n)));
  assert.deepEqual(numbers, [[1, 2, 3], [2, 3], [3], []]);
  assert.deepEqual(pages.at(-1), [], 'a page that connected after the end is told nothing');
});

test('security 42: what is played is read and encoded once for all overlays, and a slow one falls behind alone', async (t) => {
  const { runtime, clock, creatorId, later, worker, start } = await setUp(t);
  const ids = await tipsAt(
    { runtime, clock },
    creatorId,
    Array.from(range(1, 120), (n) => evening + n),
  );
  later();
  const reads: string[] = [];
  const all: Database['all'] = (sql, params) => {
    if (textFor(runtime.db.engine, sql).includes('rehearsal_steps')) reads.push('steps');
    return runtime.db.all(sql, params);
  };
  const encoded: Buffer[] = [];
  const viewers = createViewers({
    ...runtime,
    db: { ...runtime.db, all },
    encodeFrame(frame) {
      const buffer = Buffer.from(JSON.stringify(frame));
      encoded.push(buffer);
      return buffer;
    },
  });
  const since = clock();
  const pages = Array.from({ length: 20 }, (_, index) => {
    const frames: Buffer[] = [];
    const page = { frames, buffered: index === 0 ? 1e6 : 0, sendFrame: (frame: Buffer) => void frames.push(frame) };
    t.after(viewers.open(creatorId, page, since));
    return page;
  });
  const [slow, ...others] = pages;
  assert.ok(slow);
  await start(evening, evening + hour, 100);
  await worker().idle();
  const shown = (frames: readonly Buffer[]) =>
    frames.flatMap((frame) => JSON.parse(String(frame)).alerts.map((alert: Alert) => alert.event.data.tip.id));
  const over = ({ frames }: typeof slow) =>
    shown(frames).length === ids.length && String(frames.at(-1)).includes('"finished"');
  await until('all others have heard of the end', () => others.every(over));
  for (const { frames } of others) {
    assert.deepEqual(shown(frames), ids);
    assert.equal(frames.length, encoded.length);
    assert.ok(
      frames.every((frame, index) => frame === encoded[index]),
      'each frame was encoded once',
    );
  }
  // A read for each frame at most, and those of hints that found nothing new.
  const readsOfOthers = reads.length;
  assert.ok(readsOfOthers < 3 * 120, `${readsOfOthers} reads`);
  assert.deepEqual(slow.frames, []);
  slow.buffered = 0;
  viewers.wake(creatorId);
  await until('the slow one has caught up', () => over(slow));
  assert.deepEqual(shown(slow.frames), ids);
  assert.equal(reads.length, readsOfOthers + 3);
});

test('a node that goes away while the storage is away leaves its rehearsals to their leases', async (t) => {
  const { runtime, clock, creatorId, later, worker, overlay, start, current } = await setUp(t);
  await tipsAt({ runtime, clock }, creatorId, [evening, evening + hour]);
  later();
  const page = await overlay();
  const unavailable = () => Promise.reject(new StorageUnavailable('away'));
  let isAway = false;
  const write: Database['write'] = (...args) => (isAway ? unavailable() : runtime.db.write(...args));
  const going = worker({ wait: gates(clock).wait, db: { ...runtime.db, write } });
  await start(evening, evening + hour, 1);
  await going.poll();
  await until('it plays', () => page.alerts().length === 1);
  isAway = true;
  await going.stop();
  assert.equal((await current()).status, 'playing');
  clock.advance(10_001);
  await worker().poll();
  assert.equal((await current()).status, 'ended');
});

test('a rehearsal ends with the lease of its node, and one that nobody plays ends too', async (t) => {
  const { runtime, clock, creatorId, later, worker, overlay, start, current } = await setUp(t);
  await tipsAt({ runtime, clock }, creatorId, [evening, evening + hour]);
  later();
  const page = await overlay();
  const gate = gates(clock);
  const gone = worker({ wait: gate.wait });
  const other = worker();
  await start(evening, evening + hour, 1);
  await gone.poll();
  await until('it plays', () => page.alerts().length === 1);
  await other.poll();
  assert.equal((await current()).status, 'playing');
  clock.advance(10_001);
  await other.poll();
  assert.equal((await current()).status, 'ended');
  await until('the overlay is told', () => page.status() === 'ended');
  gate.release();
  await gone.idle();
  assert.equal((await current()).played, 1, 'the node that had lost its lease plays no more');

  await start(evening, evening + hour, 1);
  clock.advance(15_001);
  await other.poll();
  assert.equal((await current()).status, 'ended', 'no node was there in time');
});

test('a node that goes away ends what it plays at once, and a new process what an old one played', async (t) => {
  const { runtime, clock, creatorId, later, worker, overlay, start, current } = await setUp(t);
  await tipsAt({ runtime, clock }, creatorId, [evening, evening + hour]);
  later();
  const page = await overlay();
  const [first, second] = [worker({ wait: gates(clock).wait }), worker({ wait: gates(clock).wait })];
  await start(evening, evening + hour, 1);
  await first.poll();
  await until('it plays', () => page.alerts().length === 1);
  await first.stop();
  assert.equal((await current()).status, 'ended');
  await until('the overlay is told', () => page.status() === 'ended');

  await start(evening, evening + hour, 1);
  await second.poll();
  assert.equal((await current()).status, 'playing');
  if (runtime.db.engine === 'sqlite') {
    await worker().start();
    assert.equal((await current()).status, 'ended');
  }
});

test('a suspended creator’s rehearsal plays no more', async (t) => {
  const { runtime, clock, creatorId, later, worker, start, current } = await setUp(t);
  await tipsAt({ runtime, clock }, creatorId, [evening, evening + minute]);
  later();
  await start(evening, evening + hour, 1);
  const wait = async (ms: number) => {
    clock.advance(ms);
    if (ms > 500) await runtime.accounts.setSuspended(creatorId, clock());
  };
  await worker({ wait }).idle();
  assert.equal((await current()).played, 1);
});

test('a span is of the past, at most 12 hours of the last 30 days, and has alerts', async (t) => {
  const { runtime, clock, creatorId, later, start } = await setUp(t);
  await tipsAt({ runtime, clock }, creatorId, [evening]);
  later();
  const now = clock();
  const cases: [from: number, to: number, problem: string][] = [
    [evening + 1, evening, 'order'],
    [now - 1, now + 1, 'future'],
    [evening, evening + 12 * hour + 1, 'too_long'],
    [now - 30 * 24 * hour - 1, now - 30 * 24 * hour, 'too_old'],
    [evening + 1, evening + hour, 'none'],
  ];
  for (const [from, to, problem] of cases) assert.equal(await start(from, to, 1), problem);
  assert.equal(typeof (await start(evening, evening + 12 * hour, 1)), 'object');
});

test('evenings are found by their tips, the newest first', async (t) => {
  const { runtime, clock, creatorId } = await setUp(t);
  const night = (day: number, count: number) => range(1, count).map((n) => evening + day * 24 * hour + n * 10 * minute);
  await tipsAt({ runtime, clock }, creatorId, [
    evening - 31 * 24 * hour,
    ...night(-3, 1),
    ...night(-1, 40),
    ...night(0, 6),
  ]);
  clock.set(evening + 20 * hour);
  const found = await runtime.rehearsals.evenings(creatorId);
  assert.deepEqual(
    found.map(({ from, to, count }) => [from, to, count]),
    [night(0, 6), night(-1, 40), night(-3, 1)].map((times) => [times[0], times.at(-1), times.length]),
  );
});

test('of a sandbox creator apps get each alert too, as test and replay, and totals stay', async (t) => {
  const { runtime, clock, address, creatorId: developerId, worker, later, ...app } = await setUp(t);
  const client = await makeApp(runtime, 'Goal Bot', developerId);
  const { id: creatorId } = await runtime.sandbox.create(developerId, 'Sandbox One');
  const ids = await tipsAt({ runtime, clock }, creatorId, [evening, evening + minute, evening + hour]);
  later();
  const tokens = await runtime.sandbox.connect(developerId, creatorId, client.clientId, allScopes);
  const headers = { authorization: `Bearer ${tokens?.access_token}` };
  const socket = connect(t, address, { token: await socketToken({ ...app, runtime, clock }, { headers }) });
  await socket.frame(1);
  const page = await openRehearsalOverlay(t, address, await runtime.overlays.key(creatorId));
  const [before, { tips }] = await Promise.all([
    runtime.tips.stats(creatorId),
    runtime.tips.page(creatorId, allTips, null, 10),
  ]);
  await runtime.rehearsals.start(creatorId, { from: evening, to: evening + hour }, 60);
  await worker().idle();
  await until('the app has all', () => socket.sequences().length === 3);
  assert.deepEqual(socket.sequences(), [4, 5, 6], 'without gaps');
  const events = socket.frames.flatMap(({ event }) => event ?? []);
  assert.deepEqual(
    events.map((event) => ({ ...event, id: '', created_at: '', data: '' })),
    [4, 5, 6].map((sequence) => ({
      ...{ id: '', type: 'alert.replayed', sequence, test: true, replay: true },
      ...{ creator_id: creatorId, created_at: '', data: '' },
    })),
  );
  await until('the overlay has all', () => page.status() === 'finished');
  assert.deepEqual(
    page.alerts().map(({ event }) => event.data.tip.id),
    ids,
  );
  assert.deepEqual(page.events, ['tip.created', 'tip.created', 'tip.created'], 'by its own frames, once');
  const { as_of: _, ...totals } = await runtime.tips.stats(creatorId);
  assert.deepEqual({ ...totals, as_of: before.as_of }, before);
  assert.deepEqual((await runtime.tips.page(creatorId, allTips, null, 10)).tips, tips);
});

test('a sandbox creator rehearses 2,000 alerts at a time, and all of a developer 5,000 in ten minutes', async (t) => {
  const { runtime, clock, creatorId: developerId } = await setUp(t);
  const { id: creatorId } = await runtime.sandbox.create(developerId, 'Sandbox One');
  await makeManyTips(runtime, creatorId, 2001);
  const now = clock();
  const start = async (count: number) => {
    const started = await runtime.rehearsals.start(creatorId, { from: now - (count - 1) * 1000, to: now }, 100);
    await runtime.rehearsals.stop(creatorId);
    return typeof started === 'string' ? started : started.total;
  };
  assert.equal(await start(2001), 'too_many_sandbox');
  for (const count of [2000, 2000, 1000]) assert.equal(await start(count), count);
  assert.equal(await start(1), 'too_often');
  clock.advance(10 * minute);
  assert.equal(await start(1), 1);
});

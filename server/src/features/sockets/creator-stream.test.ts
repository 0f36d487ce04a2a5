import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { until } from '../../../../sdk/test/until.ts';
import { range } from '../../../test/sockets.ts';
import { createWorkQueue } from '../../platform/work-queue.ts';
import type { Connection } from './connection.ts';
import { CreatorStream } from './creator-stream.ts';
import { EncodedEvents } from './encoded-events.ts';
import { Subscriber } from './subscriber.ts';

/** A stream over a log in memory whose answers a test can hold back, to bring about each order of things. */
function setUp() {
  const log: number[] = [];
  let held: Promise<void> | undefined;
  const reads = { now: 0, most: 0, limits: [] as number[], pauses: 0 };
  const away = new Error('away');
  const errors: unknown[] = [];
  let failures = 0;
  const answer = async <T>(value: T): Promise<T> => {
    await held;
    return value;
  };
  const stream = new CreatorStream({
    creatorId: 'crt_1',
    events: {
      head: () => answer({ sequence: log.length }),
      oldest: () => answer(log[0] ?? null),
      async rawAfter(_, after, limit) {
        reads.now += 1;
        reads.limits.push(limit);
        if (failures > 0) {
          failures -= 1;
          reads.now -= 1;
          throw away;
        }
        reads.most = Math.max(reads.most, reads.now);
        const page = log
          .slice(after, after + limit)
          .map((sequence) => ({ sequence, type: 'tip.created', body: '{}', screened: null }));
        await nextIteration();
        return answer(page).finally(() => (reads.now -= 1));
      },
    },
    catchUps: createWorkQueue({ atOnce: 2, maxWaiting: Number.POSITIVE_INFINITY }),
    pause: async () => {
      reads.pauses += 1;
    },
    onSent: () => {},
    onError(error) {
      if (error !== away) assert.fail(String(error));
      errors.push(error);
    },
  });
  return {
    stream,
    reads,
    errors,
    /** The next so many reads fail. */
    fail(count: number) {
      failures = count;
    },
    record: (count: number) => log.push(...range(log.length + 1, log.length + count)),
    /** Holds back what the log answers from now on; the returned function lets go. */
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return () => {
        held = undefined;
        resolve();
      };
    },
    join(owner = '') {
      const seen: number[] = [];
      const closes: string[] = [];
      const connection: Connection = {
        welcome: () => {},
        send: ({ events }: EncodedEvents) => seen.push(...events.map(({ sequence }) => sequence)),
        keepalive: () => {},
        reconnect: () => true,
        close: (reason) => closes.push(reason),
        drained: async () => {},
        buffered: 0,
        flushed: 0,
      };
      const permission = { key: '', isAllowed: () => true };
      const options = { creatorId: 'crt_1', kind: 'socket', slots: { key: owner, max: 1 }, permission } as const;
      const subscriber = new Subscriber(options, connection, (left) => stream.remove(left));
      stream.subscribers.add(subscriber);
      return { subscriber, seen, closes };
    },
  };
}

test('a hint that comes while the only subscriber joins is not lost', async () => {
  const { stream, record, hold, join } = setUp();
  record(2);
  const { subscriber, seen } = join();
  const release = hold();
  const started = stream.start(subscriber, undefined); // the newest it is told is 2
  record(1);
  stream.wake(3);
  release();
  await started;
  await until('it has come', () => seen.length === 1);
  assert.deepEqual(seen, [3]);
});

test('a subscriber that joins while the others go on gets what they got in between', async () => {
  const { stream, record, hold, join } = setUp();
  const first = join();
  await stream.start(first.subscriber, undefined);
  record(1);
  stream.wake(1);
  await until('the first is live', () => first.seen.length === 1);

  const second = join();
  const release = hold();
  const started = stream.start(second.subscriber, undefined); // told that 1 is the newest
  await Promise.resolve();
  release();
  record(3);
  stream.wake(4);
  await started;
  await until('both have all', () => first.seen.length === 4 && second.seen.length === 3);
  assert.deepEqual(first.seen, [1, 2, 3, 4]);
  assert.deepEqual(second.seen, [2, 3, 4]);
  assert.deepEqual([...first.closes, ...second.closes], []);
});

test('what a subscriber read by itself is not sent to it again', async () => {
  const { stream, record, hold, join } = setUp();
  const first = join();
  await stream.start(first.subscriber, undefined);
  const release = hold();
  record(2);
  stream.wake(2); // the reader waits for its answer
  const second = join();
  const started = stream.start(second.subscriber, 0);
  release();
  await started;
  record(1);
  stream.wake(3);
  await until('both have all', () => first.seen.length >= 3 && second.seen.length >= 3);
  assert.deepEqual(first.seen, [1, 2, 3]);
  assert.deepEqual(second.seen, [1, 2, 3]);
});

test('a gap ends the connection instead of passing unnoticed', async () => {
  const { stream, record, join } = setUp();
  const { subscriber, seen, closes } = join();
  await stream.start(subscriber, undefined);
  record(1);
  stream.wake(1);
  await until('it is live', () => seen.length === 1);
  subscriber.send(new EncodedEvents([{ sequence: 3, type: 'tip.created', body: '{}', screened: null }]));
  assert.deepEqual(seen, [1]);
  assert.deepEqual(closes, ['restart']);
});

test('of many who read a long log again a few read at once, and one of another app does not wait for all of them', async ({
  signal,
}) => {
  const { stream, reads, record, join } = setUp();
  record(1_000);
  const many = range(1, 50).map(() => join('many'));
  for (const { subscriber } of many) await stream.start(subscriber, 0);
  const one = join('one');
  await stream.start(one.subscriber, 500);
  // Looked at in each iteration: the others go on.
  while (one.seen.length < 500) await nextIteration(undefined, { signal });
  const sent = many.reduce((sum, { seen }) => sum + seen.length, 0);
  assert.ok(sent < 10_000, `${sent} of 50,000 events were sent to the others before`);
  await until('all have', () => many.every(({ seen }) => seen.length === 1_000));
  // Two who catch up, and the reader of those who have.
  assert.ok(reads.most <= 3, `${reads.most} reads at once`);
});

test('security 41: whoever missed much reads short pages, and waits for a turn before each is read and sent', async () => {
  const { stream, reads, record, join } = setUp();
  record(100);
  const { subscriber, seen } = join();
  await stream.start(subscriber, 0);
  await until('it has all', () => seen.length === 100);
  assert.deepEqual(seen, range(1, 100));
  // The last read is that of the live reader, which sends the same to everybody.
  assert.deepEqual(reads.limits, [...range(1, 7).map(() => 16), 100]);
  assert.equal(reads.pauses, 14);
});

test('security 41: those who read the same page at the same time share the read and the encoding', async () => {
  const { stream, reads, record, join } = setUp();
  record(64);
  const both = [join('a'), join('b')];
  await Promise.all(both.map(({ subscriber }) => stream.start(subscriber, 0)));
  await until('both have all', () => both.every(({ seen }) => seen.length === 64));
  for (const { seen, closes } of both) {
    assert.deepEqual(seen, range(1, 64));
    assert.deepEqual(closes, []);
  }
  assert.equal(reads.limits.filter((limit) => limit === 16).length, 4);
});

test('a page that could not be read is read again for whoever comes later', async () => {
  const { stream, record, hold, join, errors, fail } = setUp();
  record(3);
  const release = hold();
  const first = join();
  const started = stream.start(first.subscriber, 0);
  fail(1);
  release();
  await started;
  await until('it is closed', () => first.closes.length === 1);
  assert.deepEqual([first.closes, first.seen, errors.length], [['restart'], [], 1]);
  const second = join();
  await stream.start(second.subscriber, 0);
  await until('it has all', () => second.seen.length === 3);
  assert.deepEqual(second.seen, [1, 2, 3]);
});

test('security 41: of a thousand live subscribers a part gets an event before others are served', async () => {
  const { stream, record, join } = setUp();
  const joined = range(1, 1_000).map(() => join());
  for (const { subscriber } of joined) await stream.start(subscriber, undefined);
  const got = () => joined.filter(({ seen }) => seen.length > 0).length;
  record(1);
  stream.wake(1);
  let most = 0;
  for (let before = 0; before < joined.length; ) {
    await nextIteration();
    const now = got();
    most = Math.max(most, now - before);
    // What comes meanwhile follows, also to those who leave or join.
    if (before === 0 && now > 0) {
      record(2);
      stream.wake(3);
      joined.pop()?.subscriber.close('restart');
      const late = join();
      await stream.start(late.subscriber, 0);
      joined.push(late);
    }
    before = now;
  }
  assert.ok(most <= 200, `${most} in one iteration of the event loop`);
  await until('all have come', () => joined.every(({ seen }) => seen.length === 3));
  assert.deepEqual(new Set(joined.map(({ seen, closes }) => [...seen, ...closes].join())), new Set(['1,2,3']));
});

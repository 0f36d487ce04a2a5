import assert from 'node:assert/strict';
import { test } from 'node:test';
import { range, until } from '../../../test/sockets.ts';
import { Batch } from './batch.ts';
import { Feed } from './feed.ts';
import { Member, type Wire } from './member.ts';

/** A feed over a log in memory whose answers a test can hold back, to bring about each order of things. */
function setUp() {
  const log: number[] = [];
  let held: Promise<void> | undefined;
  const answer = async <T>(value: T): Promise<T> => {
    await held;
    return value;
  };
  const feed = new Feed({
    creatorId: 'crt_1',
    events: {
      head: () => answer({ sequence: log.length }),
      oldest: () => answer(log[0] ?? null),
      after: (_, after, limit) =>
        answer(log.slice(after, after + limit).map((sequence) => ({ sequence, type: 'tip.created', body: '{}' }))),
    },
    onSent: () => {},
    onError: (error) => assert.fail(String(error)),
  });
  return {
    feed,
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
    join() {
      const seen: number[] = [];
      const ends: string[] = [];
      const wire: Wire = {
        welcome: () => {},
        send: (batch: Batch) => seen.push(...batch.events.map(({ sequence }) => sequence)),
        keepalive: () => {},
        reconnect: () => true,
        end: (reason) => ends.push(reason),
        drained: async () => {},
        buffered: 0,
        flushed: 0,
      };
      const pass = { key: '', allowed: () => true };
      const options = { creatorId: 'crt_1', kind: 'socket', slot: { key: '', most: 1 }, pass } as const;
      const member = new Member(options, wire, (gone) => feed.remove(gone));
      feed.members.add(member);
      return { member, seen, ends };
    },
  };
}

test('a hint that comes while the only member joins is not lost', async () => {
  const { feed, record, hold, join } = setUp();
  record(2);
  const { member, seen } = join();
  const release = hold();
  const started = feed.start(member, undefined); // the newest it is told is 2
  record(1);
  feed.wake(3);
  release();
  await started;
  await until('it has come', () => seen.length === 1);
  assert.deepEqual(seen, [3]);
});

test('a member that joins while the others go on gets what they got in between', async () => {
  const { feed, record, hold, join } = setUp();
  const first = join();
  await feed.start(first.member, undefined);
  record(1);
  feed.wake(1);
  await until('the first is live', () => first.seen.length === 1);

  const second = join();
  const release = hold();
  const started = feed.start(second.member, undefined); // told that 1 is the newest
  await Promise.resolve();
  release();
  record(3);
  feed.wake(4);
  await started;
  await until('both have all', () => first.seen.length === 4 && second.seen.length === 3);
  assert.deepEqual(first.seen, [1, 2, 3, 4]);
  assert.deepEqual(second.seen, [2, 3, 4]);
  assert.deepEqual([...first.ends, ...second.ends], []);
});

test('what a member read by itself is not sent to it again', async () => {
  const { feed, record, hold, join } = setUp();
  const first = join();
  await feed.start(first.member, undefined);
  const release = hold();
  record(2);
  feed.wake(2); // the reader waits for its answer
  const second = join();
  const started = feed.start(second.member, 0);
  release();
  await started;
  record(1);
  feed.wake(3);
  await until('both have all', () => first.seen.length >= 3 && second.seen.length >= 3);
  assert.deepEqual(first.seen, [1, 2, 3]);
  assert.deepEqual(second.seen, [1, 2, 3]);
});

test('a gap ends the connection instead of passing unnoticed', async () => {
  const { feed, record, join } = setUp();
  const { member, seen, ends } = join();
  await feed.start(member, undefined);
  record(1);
  feed.wake(1);
  await until('it is live', () => seen.length === 1);
  member.offer(new Batch([{ sequence: 3, type: 'tip.created', body: '{}' }]));
  assert.deepEqual(seen, [1]);
  assert.deepEqual(ends, ['restart']);
});

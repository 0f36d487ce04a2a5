import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { seed, seeded } from '../../../../sdk/test/seeded.ts';
import { makePair } from '../../../test/factories.ts';
import { connect, listen, range, recordTips, socketToken } from '../../../test/sockets.ts';
import { writes as eventWrites } from '../events/repo.ts';

async function setUp(t: TestContext) {
  const app = await listen(t);
  const pair = await makePair(app.runtime);
  const tips = (count: number, message: string | null = null) => recordTips(app, pair.creatorId, count, message);
  const token = await socketToken(app, pair);
  const start = async (query: Record<string, string | number>) => {
    const client = connect(t, app.address, query);
    const { sequence, oldest, resumed, replayed } = await client.frame(1);
    return { client, welcome: { sequence, oldest, resumed, replayed } };
  };
  return { app, pair, token, tips, start };
}

test('a token in the query opens the stream: welcome, then each event', async (t) => {
  const { app, pair, token, tips } = await setUp(t);
  const client = connect(t, app.address, { token });
  const { session_id, ...welcome } = await client.frame(1);
  assert.match(String(session_id), /^req_/);
  assert.deepEqual(welcome, {
    type: 'welcome',
    keepalive_seconds: 25,
    sequence: 0,
    oldest: null,
    resumed: null,
    replayed: 0,
  });
  await tips(2);
  await client.frame(3);
  const log = await app.http.inject({ url: '/v1/events', headers: pair.headers });
  const [one, two] = log.json().data;
  assert.deepEqual(client.frames.slice(1), [
    { type: 'event', event: one },
    { type: 'event', event: two },
  ]);
});

test('an event is the same to the byte on the socket and in the log, however long', async (t) => {
  const { app, pair, token, tips } = await setUp(t);
  const client = connect(t, app.address, { token });
  const texts: string[] = [];
  client.webSocket.on('message', (data) => texts.push(String(data)));
  await client.frame(1);
  const messages = [null, 'ขอบคุณ \u2028 "<b>" ☕', 'x'.repeat(70_000)];
  for (const message of messages) await tips(1, message);
  await client.frame(4);
  const log = await app.http.inject({ url: '/v1/events', headers: pair.headers });
  const bodies = texts.slice(1).map((text) => /^\{"type":"event","event":(.*)\}$/s.exec(text)?.[1]);
  assert.equal(log.body, `{"data":[${bodies.join(',')}],"next_after":3,"oldest":1}`);
});

test('a first frame authenticates too, with after or without', async (t) => {
  const { app, token, tips } = await setUp(t);
  await tips(3);
  const cases = [
    [{ after: 1 }, { resumed: true, replayed: 2 }],
    [{}, { resumed: null, replayed: 0 }],
    [{ after: null }, { resumed: null, replayed: 0 }],
  ] as const;
  for (const [more, expected] of cases) {
    const client = connect(t, app.address, null);
    client.webSocket.once('open', () => client.webSocket.send(JSON.stringify({ type: 'auth', token, ...more })));
    const { resumed, replayed } = await client.frame(1);
    assert.deepEqual({ resumed, replayed }, expected);
  }
});

test('resuming brings all that was missed, then what happens', async (t) => {
  const { token, tips, start } = await setUp(t);
  await tips(250);
  const { client, welcome } = await start({ token, after: 0 });
  assert.deepEqual(welcome, { sequence: 250, oldest: 1, resumed: true, replayed: 250 });
  await tips(5);
  await client.frame(256);
  assert.deepEqual(client.sequences(), range(1, 255));
  const upToDate = await start({ token, after: 255 });
  assert.deepEqual(upToDate.welcome, { sequence: 255, oldest: 1, resumed: true, replayed: 0 });
});

test('a position in the future is told, and only live events follow', async (t) => {
  const { token, tips, start } = await setUp(t);
  await tips(2);
  const { client, welcome } = await start({ token, after: 3 });
  assert.deepEqual(welcome, { sequence: 2, oldest: 1, resumed: false, replayed: 0 });
  await tips(1);
  await client.frame(2);
  assert.deepEqual(client.sequences(), [3]);
});

test('a position whose events were removed by age is told, and only live events follow', async (t) => {
  const { app, pair, tips, start } = await setUp(t);
  await tips(3);
  app.clock.advance(30 * 86_400_000 + 1);
  await app.runtime.events.prune();
  const token = await socketToken(app, await makePair(app.runtime, { creator: pair }));
  const empty = await start({ token, after: 2 });
  assert.deepEqual(empty.welcome, { sequence: 3, oldest: null, resumed: false, replayed: 0 });
  const complete = await start({ token, after: 3 });
  assert.deepEqual(complete.welcome, { sequence: 3, oldest: null, resumed: true, replayed: 0 });
  await tips(2);
  await empty.client.frame(3);
  assert.deepEqual(empty.client.sequences(), [4, 5]);
  assert.deepEqual((await start({ token, after: 2 })).welcome, {
    sequence: 5,
    oldest: 4,
    resumed: false,
    replayed: 0,
  });
  assert.deepEqual((await start({ token, after: 3 })).welcome, { sequence: 5, oldest: 4, resumed: true, replayed: 2 });
});

test('one creator’s events reach no other’s sockets', async (t) => {
  const { app, token, tips, start } = await setUp(t);
  const stranger = await makePair(app.runtime);
  const { client } = await start({ token: await socketToken(app, stranger) });
  const own = await start({ token });
  await tips(3);
  await own.client.frame(4);
  await recordTips(app, stranger.creatorId, 1);
  await client.frame(2);
  assert.deepEqual(client.sequences(), [1]);
});

test(`connections that come and go while events are recorded miss none and get none twice (TEST_SEED=${seed})`, async (t) => {
  const random = seeded(seed);
  const { token, tips, start } = await setUp(t);
  let writing = true;
  const writer = (async () => {
    for (let n = 0; n < 40; n += 1) await tips(1 + (n % 30));
    writing = false;
  })();
  const seen: number[] = [];
  for (let after = 0; writing; after = seen.length) {
    const { client } = await start({ token, after });
    await client.frame(1 + Math.ceil(random() * 20)).catch(() => {});
    client.webSocket.terminate();
    await client.closed;
    seen.push(...client.sequences());
  }
  await writer;
  const { client, welcome } = await start({ token, after: seen.length });
  await client.frame(1 + Number(welcome.replayed));
  assert.deepEqual([...seen, ...client.sequences()], range(1, Number(welcome.sequence)));
});

test('what another process or a lost hint hid is found by the sweep', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const { app, pair, token, start } = await setUp(t);
  const { client } = await start({ token });
  // No hint is sent: this is the write without what follows it.
  const event = app.runtime.events.prepare({ creatorId: pair.creatorId, type: 'alert.skipped' });
  await app.runtime.db.write(eventWrites.appendAlone, event, '{}');
  t.mock.timers.tick(10_000);
  await client.frame(2);
  assert.deepEqual(client.sequences(), [1]);
});

test('security 41: a history of the longest events is sent again in parts of 72 KiB at most', async (t) => {
  const { app, pair, token } = await setUp(t);
  const { tips, events } = app.runtime;
  const { creatorId } = pair;
  const longest = { name: 'N'.repeat(25), displayName: '😀'.repeat(40), message: '😀'.repeat(255) };
  for (let n = 0; n < 20; n += 1) {
    const { tip } = await tips.record({ creatorId, app: null, amount: 1, ...longest });
    await tips.void(creatorId, tip.id, { clientId: null, reason: '😀'.repeat(255) });
  }
  const written: number[] = [];
  app.http.server.on('connection', (socket: Socket) => {
    t.mock.method(socket, 'write', (...what: Parameters<Socket['write']>) => {
      written.push(what[0].length);
      return Reflect.apply(Object.getPrototypeOf(socket).write, socket, what);
    });
  });
  const client = connect(t, app.address, { token, after: 0 });
  const bytes = (await events.after(creatorId, 0, 100)).map(({ body }) => Buffer.byteLength(body));
  await client.frame(1 + bytes.length);
  assert.deepEqual(client.sequences(), range(1, bytes.length));
  assert.ok(Math.max(...bytes) > 3900 && Math.max(...bytes) < 72 * 64 - 64, `${bytes}`);
  assert.ok(Math.max(...written) > 32 * 1024, `${written}`);
  assert.ok(Math.max(...written) <= 72 * 1024, `${written}`);
});

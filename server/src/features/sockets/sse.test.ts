import assert from 'node:assert/strict';
import { request } from 'node:http';
import type { Socket } from 'node:net';
import { type TestContext, test } from 'node:test';
import { until } from '../../../../sdk/test/until.ts';
import { makePair } from '../../../test/factories.ts';
import { connect, listen, range, recordTips, socketToken } from '../../../test/sockets.ts';
import { startStopwatch } from '../../../test/stopwatch.ts';
import { signedInVisitor } from '../../../test/visitor.ts';

async function setUp(t: TestContext) {
  const app = await listen(t);
  const pair = await makePair(app.runtime);
  const tips = (count: number) => recordTips(app, pair.creatorId, count);
  const open = async (headers: Record<string, string> = {}) => {
    const abort = new AbortController();
    t.after(() => abort.abort());
    const response = await fetch(`http://${app.address}/v1/events/stream`, {
      headers: { ...pair.headers, ...headers },
      signal: abort.signal,
    });
    const stream = { response, text: '', ended: false };
    const read = async () => {
      const decoder = new TextDecoder();
      for await (const chunk of response.body ?? []) stream.text += decoder.decode(chunk, { stream: true });
      stream.ended = true;
    };
    read().catch(() => {});
    return stream;
  };
  return { app, pair, tips, open };
}

const idsOf = (text: string) => [...text.matchAll(/^id: (\d+)\ndata: \{/gm)].map(([, id]) => Number(id));

test('without Last-Event-ID only live events follow: id and data, the bytes of the log', async (t) => {
  const { app, pair, tips, open } = await setUp(t);
  await tips(2);
  const stream = await open();
  assert.equal(stream.response.status, 200);
  assert.equal(stream.response.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  assert.equal(stream.response.headers.get('cache-control'), 'no-store');
  assert.match(String(stream.response.headers.get('x-request-id')), /^req_/);
  assert.equal(stream.response.headers.get('ratelimit'), '"read";r=119;t=60', 'counted as one read');
  await until('it is live', () => stream.text.endsWith('\n\n'));
  await tips(1);
  await until('the event has come', () => stream.text.includes('data:'));
  const log = await app.http.inject({ url: '/v1/events?after=2', headers: pair.headers });
  const body = /^\{"data":\[(.*)\],"next_after"/.exec(log.body)?.[1];
  assert.equal(stream.text, `: welcome\nid: 2\n\nid: 3\ndata: ${body}\n\n`);
});

test('Last-Event-ID resumes; a lost position is told first', async (t) => {
  const { tips, open } = await setUp(t);
  await tips(120);
  const resumed = await open({ 'last-event-id': '1' });
  await until('all have come', () => idsOf(resumed.text).length === 119);
  assert.deepEqual(idsOf(resumed.text), range(2, 120));
  const lost = await open({ 'last-event-id': '121' });
  await until('it is told', () => lost.text.length > 0);
  await tips(1);
  await until('the live event has come', () => lost.text.includes('id: 121'));
  assert.ok(lost.text.startsWith('event: reset\nid: 120\ndata: {"oldest":1,"sequence":120}\n\nid: 121\ndata: {'));
});

test('an event source that is cut before its first event misses none', async (t) => {
  const { tips, open } = await setUp(t);
  await tips(3);
  const first = await open();
  await until('it is live', () => first.text.endsWith('\n\n'));
  const position = /^id: (\d+)$/m.exec(first.text)?.[1];
  await tips(2);
  const second = await open({ 'last-event-id': String(position) });
  await until('the missed ones have come', () => idsOf(second.text).length === 2);
  assert.deepEqual(idsOf(second.text), [4, 5]);
});

test('a bad Last-Event-ID, a missing token or scope, another method', async (t) => {
  const { app, pair } = await setUp(t);
  const url = '/v1/events/stream';
  for (const id of ['x', '-1', '1.5', '']) {
    const answer = await app.http.inject({ url, headers: { ...pair.headers, 'last-event-id': id } });
    assert.equal(answer.statusCode, 422, id);
    assert.equal(answer.json().error.details[0].field, 'last-event-id');
  }
  assert.equal((await app.http.inject({ url })).statusCode, 401);
  const weak = await makePair(app.runtime, { scope: 'tips.read' });
  const refused = await app.http.inject({ url, headers: weak.headers });
  assert.equal(refused.json().error.message, 'This endpoint requires scope: events.subscribe');
  assert.equal((await app.http.inject({ method: 'HEAD', url, headers: pair.headers })).statusCode, 405);
});

/** From here on timers of streams wait to be told. Those of the connection to Redis run: seconds at once would cut it. */
function holdTimers(t: TestContext): void {
  t.mock.timers.enable({ apis: ['setInterval'] });
}

test('a comment after 25 seconds without an event', async (t) => {
  const { open } = await setUp(t);
  holdTimers(t);
  const stream = await open();
  await until('it is live', () => stream.text.endsWith('\n\n'));
  const { length } = stream.text;
  t.mock.timers.tick(25_000);
  await until('the comment has come', () => stream.text.length > length);
  assert.equal(stream.text.slice(length), ': keepalive\n\n');
  t.mock.timers.reset();
});

test('a quiet stream lives on, however its keepalives fall together with the sweeps', async (t) => {
  const { open } = await setUp(t);
  holdTimers(t);
  t.mock.method(Math, 'random', () => 0);
  const stream = await open();
  await until('it is live', () => stream.text.endsWith('\n\n'));
  const comments = () => stream.text.split(': keepalive\n\n').length - 1;
  // Sweeps begin at once, not at a random moment: every other keepalive meets one.
  for (const count of range(1, 8)) {
    t.mock.timers.tick(25_000);
    await until(`comment ${count} has come`, () => comments() === count);
  }
  t.mock.timers.reset();
});

test('the stream ends with its grant, and with the server', async (t) => {
  const { app, pair, open } = await setUp(t);
  const stream = await open();
  await app.runtime.grants.revoke(pair.creatorId, pair.clientId, 'creator');
  const stopwatch = startStopwatch();
  await until('it has ended', () => stream.ended);
  assert.ok(stopwatch() < 1000);
  const again = await makePair(app.runtime, { creator: pair, app: pair });
  const last = await open(again.headers);
  await app.drain({ socketsMs: 30_000 });
  assert.equal(last.ended, false);
  await app.http.close();
  await until('it has ended', () => last.ended);
});

test('streams count among the fifty connections of an app and creator', async (t) => {
  const { app, pair, open } = await setUp(t);
  const token = await socketToken(app, pair);
  for (const _ of range(1, 50)) await open();
  const socket = connect(t, app.address, { token });
  assert.equal((await socket.closed).code, 4429);
  const refused = await open();
  assert.equal(refused.response.status, 429);
  const left = /t=(\d+)/.exec(String(refused.response.headers.get('ratelimit')))?.[1];
  assert.equal(refused.response.headers.get('retry-after'), left);
});

test('whoever goes away before a stream begins leaves neither a subscription nor a slot behind', async (t) => {
  const { app, pair } = await setUp(t);
  const { runtime } = app;
  const { cookies } = await signedInVisitor(app, pair.creatorId);
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const moderator = await runtime.moderators.add(pair.creatorId, 'Nok');
  let ours: Socket | undefined;
  app.http.server.on('connection', (opened) => {
    ours = opened;
  });
  let leave = async (): Promise<void> => {};
  for (const name of ['get', 'all'] as const) {
    const read = runtime.db[name];
    t.mock.method(runtime.db, name, async (...query: unknown[]) => {
      const found = await Reflect.apply(read, runtime.db, query);
      await leave();
      return found;
    });
  }
  const subscribe = t.mock.method(runtime.streams, 'subscribe');
  const { connectionSlots: slots } = runtime.limiter;
  const [acquire, release] = [t.mock.method(slots, 'acquire'), t.mock.method(slots, 'release')];
  const streams: [path: string, headers: Record<string, string>][] = [
    ['/v1/events/stream', pair.headers],
    ['/dashboard/stream', { cookie }],
    [`/moderate/${moderator}/stream`, {}],
  ];
  for (const [i, [path, headers]] of streams.entries()) {
    const asked = request(`http://${app.address}${path}`, { headers, agent: false }).on('error', () => {});
    leave = async () => {
      leave = async () => {};
      asked.socket?.resetAndDestroy();
      await until('the server has seen that', () => ours?.closed === true);
    };
    asked.end();
    await until(`${path} has begun`, () => subscribe.mock.callCount() === i + 1);
    await subscribe.mock.calls[i]?.result?.refusal;
    assert.equal(runtime.streams.connected(pair.creatorId, 'stream'), 0, path);
    assert.equal(acquire.mock.callCount(), release.mock.callCount(), path);
  }
});

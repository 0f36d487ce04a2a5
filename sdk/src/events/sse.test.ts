import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { until } from '../../test/until.ts';
import { createClient } from '../index.ts';
import { startNamjai, type TestNamjai } from '../testing/index.ts';
import { connectEvents, events, StopEvents } from './index.ts';
import type { ConnectOptions, Reset, StatusDetail } from './types.ts';

let namjai: TestNamjai;
before(async () => {
  namjai = await startNamjai();
});
after(() => namjai.close());

/** A new creator, and a connection to the event stream that writes down whatever it is told. */
async function setUp(t: { after(end: () => void): void }, options: Partial<ConnectOptions> = {}) {
  const grant = await namjai.grant({ creator: await namjai.creator() });
  const seen: number[] = [];
  const resets: Reset[] = [];
  const statuses: [string, StatusDetail][] = [];
  const connection = connectEvents({
    url: `${namjai.baseUrl}/v1/events/stream`,
    token: () => grant.accessToken,
    onEvent: ({ sequence }) => seen.push(sequence),
    onReset: (reset) => resets.push(reset),
    onStatus: (status, detail) => statuses.push([status, detail]),
    random: () => 0,
    ...options,
  });
  t.after(() => connection.close());
  return { ...grant, connection, seen, resets, statuses };
}

test('live only without a position; after a cut what was missed follows, each event once', async (t) => {
  const { creator, connection, seen, statuses } = await setUp(t);
  await until('it is live', () => connection.status === 'live');
  assert.equal(connection.position, 0);
  await namjai.tip({ creator });
  await until('the first tip is told', () => seen.length === 1);
  for (const missed of [2, 4, 6]) {
    await namjai.cutSockets();
    await namjai.tip({ creator });
    await namjai.tip({ creator });
    await until('what was missed is told', () => seen.length > missed);
  }
  assert.deepEqual(seen, [1, 2, 3, 4, 5, 6, 7]);
  assert.equal(statuses.filter(([status]) => status === 'waiting').length, 3);
});

test('a position that is not kept is told as a reset, before what is live', async (t) => {
  const { creator, connection, seen, resets } = await setUp(t, { after: 1000 });
  await until('the reset is told', () => resets.length === 1);
  assert.deepEqual([resets, connection.position], [[{ oldest: null, sequence: 0 }], 0]);
  await namjai.tip({ creator });
  await until('the tip is told', () => seen.length === 1);
});

test('a refused token is asked for anew, and ends it if there is no other', async (t) => {
  const asked: (string | undefined)[] = [];
  let good = '';
  const { accessToken, connection } = await setUp(t, {
    token(refused) {
      asked.push(refused);
      return refused === undefined ? 'expired' : good;
    },
    timer: (ms, run) => {
      const id = setTimeout(run, ms);
      return () => clearTimeout(id);
    },
  });
  good = accessToken;
  await until('it is live', () => connection.status === 'live');
  assert.deepEqual(asked, [undefined, 'expired']);

  const { statuses } = await setUp(t, {
    token(refused) {
      if (refused !== undefined) throw new StopEvents('no other');
      return 'expired';
    },
  });
  await until('it has ended', () => statuses.at(-1)?.[0] === 'ended');
  assert.deepEqual(
    statuses.map(([status, { code }]) => [status, code]),
    [
      ['connecting', undefined],
      ['waiting', 4401],
      ['connecting', undefined],
      ['ended', undefined],
    ],
  );
});

test('it ends with the grant', async (t) => {
  const { app, accessToken, connection, statuses } = await setUp(t);
  await until('it is live', () => connection.status === 'live');
  await fetch(`${namjai.baseUrl}/v1/oauth/revoke`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token: accessToken, client_id: app.clientId, client_secret: app.clientSecret }),
  });
  await until('it has ended', () => connection.status === 'ended');
  assert.equal(statuses.at(-1)?.[1].code, 4403);
});

test('where there is no WebSocket the client follows by Server-Sent Events, and the loop says what to do', async (t) => {
  const { WebSocket } = globalThis;
  t.after(() => {
    globalThis.WebSocket = WebSocket;
  });
  Reflect.deleteProperty(globalThis, 'WebSocket');
  const { creator, accessToken } = await namjai.grant({ creator: await namjai.creator() });
  const requests: string[] = [];
  const client = createClient({
    baseUrl: namjai.baseUrl,
    accessToken,
    fetch: (input, init) => {
      requests.push(new URL(String(input)).pathname);
      return fetch(input, init);
    },
  });
  const seen: string[] = [];
  const connection = client.events.connect({ onEvent: ({ type }) => seen.push(type) });
  t.after(() => connection.close());
  await until('it is live', () => connection.status === 'live');
  await namjai.tip({ creator });
  await until('the tip is told', () => seen.length === 1);
  assert.deepEqual([seen, requests], [['tip.created'], ['/v1/events/stream']]);

  for await (const event of events({ url: `${namjai.baseUrl}/v1/events/stream`, token: () => accessToken, after: 0 })) {
    assert.equal(event.sequence, 1);
    break;
  }
  const loop = events({ url: 'ws://localhost/v1/socket', token: () => 'x' });
  await assert.rejects(async () => loop.next(), /no WebSocket.*\/v1\/events\/stream/);
});

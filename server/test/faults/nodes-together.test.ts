import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { WebSocket } from 'ws';
import { until } from '../../../sdk/test/until.ts';
import { leaseMs } from '../../src/features/webhooks/delivery/leases.ts';
import { makeCreator, makePair, makePublicApp } from '../factories.ts';
import { assertLedger } from '../ledger.ts';
import { prepareNodes } from '../nodes.ts';
import { approve, redirectUri } from '../oauth.ts';
import { startReceiver } from '../receiver.ts';
import { skipWithoutRedisServer } from '../redis.ts';
import { range } from '../sockets.ts';
import { startStopwatch } from '../stopwatch.ts';
import { withStore } from '../store.ts';

async function post(url: string, body: object, headers: Record<string, string> = {}) {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return { status: answer.status, headers: answer.headers, json: (await answer.json()) as Record<string, string> };
}

describe('nodes that share one store', { concurrency: true, skip: skipWithoutRedisServer }, () => {
  test('start together on an empty database, and trust each other’s tokens', async (t) => {
    const nodes = await prepareNodes(t, 3);
    await Promise.all([0, 1, 2].map(nodes.start));
    const sets = await Promise.all(nodes.urls.map(async (url) => (await fetch(`${url}/.well-known/jwks.json`)).text()));
    assert.equal(new Set(sets).size, 1);
    assert.equal(JSON.parse(sets[0]!).keys.length, 1, 'one made the first signing key');
    const pair = await withStore(nodes.env, (runtime) => makePair(runtime));
    for (const url of nodes.urls) assert.equal((await fetch(`${url}/v1/me`, { headers: pair.headers })).status, 200);
    const demos = await withStore(nodes.env, ({ db }) => db.all("SELECT id FROM creators WHERE username = 'demo'"));
    assert.equal(demos.length, 1);
  });

  test('security 13: codes, refresh tokens and keys used at once over both nodes are used once; so are repeats', async (t) => {
    const nodes = await prepareNodes(t, 2);
    const { pair, code } = await withStore(nodes.env, async (runtime) => {
      const pair = await makePair(runtime);
      return { pair, code: await approve(runtime, pair, pair) };
    });
    await Promise.all([0, 1].map(nodes.start));
    const client = { client_id: pair.clientId, client_secret: pair.clientSecret };
    const atOnce = <T>(count: number, send: (url: string) => Promise<T>) =>
      Promise.all(range(1, count).map((i) => send(nodes.urls[i % 2]!)));

    for (const grant of [
      { grant_type: 'authorization_code', code, redirect_uri: redirectUri },
      { grant_type: 'refresh_token', refresh_token: pair.refreshToken },
    ]) {
      const answers = await atOnce(50, (url) => post(`${url}/v1/oauth/token`, { ...client, ...grant }));
      const won = answers.filter(({ status }) => status === 200);
      assert.deepEqual([won.length, answers.filter(({ status }) => status === 400).length], [1, 49]);
      const authorization = `Bearer ${won[0]!.json.access_token}`;
      for (const url of nodes.urls)
        assert.equal((await fetch(`${url}/v1/me`, { headers: { authorization } })).status, 200);
      const next = { ...client, grant_type: 'refresh_token', refresh_token: won[0]!.json.refresh_token };
      assert.equal((await post(`${nodes.urls[0]}/v1/oauth/token`, next)).status, 200, 'the winner’s token works');
    }

    const again = await withStore(nodes.env, (runtime) => makePair(runtime, { creator: pair, app: pair }));
    const repeat = { ...client, grant_type: 'refresh_token', refresh_token: again.refreshToken };
    const pairs = await atOnce(50, (url) => post(`${url}/v1/oauth/token`, repeat, { 'idempotency-key': 'repeat' }));
    assert.deepEqual(new Set(pairs.map(({ status }) => status)), new Set([200]));
    const works = await Promise.all(
      pairs.map(({ json }, i) =>
        post(`${nodes.urls[i % 2]}/v1/oauth/introspect`, { ...client, token: json.refresh_token }),
      ),
    );
    assert.equal(works.filter(({ json }) => json.active).length, 1, 'security 56: one living successor');

    const headers = { ...pair.headers, 'idempotency-key': 'once' };
    const tips = await atOnce(10, (url) => post(`${url}/v1/tips`, { amount: 5, name: 'ONCE' }, headers));
    assert.deepEqual(new Set(tips.map(({ status }) => status)), new Set([201]));
    assert.equal(new Set(tips.map(({ json }) => json.id)).size, 1);
    assert.equal(tips.filter((answer) => answer.headers.get('idempotency-replayed') === 'true').length, 9);
    assert.equal((await withStore(nodes.env, ({ db }) => assertLedger(db))).size, 1);
  });

  test('security 49: polls, guesses and requests of devices are counted over both nodes', async (t) => {
    const nodes = await prepareNodes(t, 2);
    const { client, cookies } = await withStore(nodes.env, async (runtime) => {
      const creators = await Promise.all([makeCreator(runtime), makeCreator(runtime)]);
      const visitor = { address: '127.0.0.1', userAgent: 'test' };
      const tokens = creators.map(({ creatorId }) => runtime.signIn.begin(creatorId, 'password', visitor));
      const cookies = (await Promise.all(tokens)).map((token) => `namjai=${token}`);
      return { client: await makePublicApp(runtime), cookies };
    });
    await Promise.all([0, 1].map(nodes.start));
    const at = (i: number) => nodes.urls[i % 2] ?? '';
    const typed = async (i: number, who: number, path: string, fields: Record<string, string>) => {
      const headers = { cookie: cookies[who] ?? '', accept: 'text/html' };
      const csrf = /name="csrf" value="([^"]+)"/.exec(await (await fetch(`${at(0)}/device`, { headers })).text())?.[1];
      const body = new URLSearchParams({ csrf: csrf ?? '', ...fields });
      const origin = nodes.env.AUTH_URL ?? '';
      const answer = await fetch(at(i) + path, { method: 'POST', headers: { ...headers, origin }, body });
      return { status: answer.status, text: await answer.text() };
    };

    const asked = await Promise.all(
      range(1, 20).map((i) => post(`${at(i)}/v1/oauth/device_authorization`, { client_id: client.clientId })),
    );
    const given = asked.filter(({ status }) => status === 200).map(({ json }) => json);
    assert.deepEqual([given.length, asked.filter(({ status }) => status === 429).length], [10, 10]);

    const [first] = given;
    const { text } = await typed(0, 0, '/device', { user_code: first?.user_code ?? '' });
    const request = /name="request" value="([^"]+)"/.exec(text)?.[1] ?? '';
    const poll = (i: number) =>
      post(`${at(i)}/v1/oauth/token`, {
        grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
        client_id: client.clientId,
        device_code: first?.device_code,
      });
    assert.equal((await poll(0)).json.error, 'authorization_pending');
    assert.equal((await poll(1)).json.error, 'slow_down', 'the other node knows of the first poll');
    assert.equal((await typed(1, 0, '/device/decision', { request, decision: 'approve' })).status, 200);
    const polls = await Promise.all(range(1, 50).map(poll));
    assert.equal(polls.filter(({ status }) => status === 200).length, 1);
    assert.deepEqual(new Set(polls.map(({ json }) => json.error)), new Set([undefined, 'invalid_grant']));

    const guesses = await Promise.all(range(1, 20).map((i) => typed(i, 0, '/device', { user_code: 'BBBB-BBBB' })));
    assert.equal(guesses.filter(({ status }) => status === 422).length, 5);
    for (const i of [0, 1])
      assert.equal((await typed(i, 0, '/device', { user_code: given[1]?.user_code ?? '' })).status, 429);
    assert.equal((await typed(1, 1, '/device', { user_code: given[1]?.user_code ?? '' })).status, 200);
  });

  test('a grant revoked on one closes sockets on the other within a second and refuses its next request', async (t) => {
    const nodes = await prepareNodes(t, 2);
    const pair = await withStore(nodes.env, (runtime) => makePair(runtime));
    await Promise.all([0, 1].map(nodes.start));
    const [here, there] = nodes.urls;
    const token = await fetch(`${there}/v1/socket/token`, { headers: pair.headers });
    const { socket_token } = (await token.json()) as { socket_token: string };
    const socket = new WebSocket(`${here!.replace('http', 'ws')}/v1/socket?token=${socket_token}`);
    t.after(() => socket.terminate());
    await once(socket, 'message');
    const closed = once(socket, 'close');
    assert.equal((await fetch(`${here}/v1/me`, { headers: pair.headers })).status, 200);

    const client = { client_id: pair.clientId, client_secret: pair.clientSecret };
    const body = JSON.stringify({ ...client, token: pair.refreshToken });
    const json = { 'content-type': 'application/json' };
    assert.equal((await fetch(`${there}/v1/oauth/revoke`, { method: 'POST', headers: json, body })).status, 200);
    const stopwatch = startStopwatch(...[0, 1].map((index) => nodes.node(index).child.pid));
    const took = closed.then(stopwatch);
    assert.equal((await fetch(`${here}/v1/me`, { headers: pair.headers })).status, 403);
    const [code] = await closed;
    assert.equal(code, 4403);
    assert.ok((await took) < 1_000, `closed after ${await took} ms`);
  });

  test('a node that sleeps past its leases settles nothing: the other delivers, once more', async (t) => {
    const nodes = await prepareNodes(t, 2);
    const receiver = await startReceiver(t);
    const pair = await withStore(nodes.env, async (runtime) => {
      const pair = await makePair(runtime);
      await runtime.webhooks.add(pair.clientId, { url: receiver.url, types: null, description: null });
      return pair;
    });
    const answers: (() => void)[] = [];
    receiver.answer = (response) => void answers.push(() => response.writeHead(500).end('too late'));
    await nodes.start(0);
    const headers = { ...pair.headers };
    assert.equal((await post(`${nodes.urls[0]}/v1/tips`, { amount: 1, name: 'LEASE' }, headers)).status, 201);
    await receiver.waitFor(1);
    nodes.node(0).pause();
    const pausedAt = performance.now();
    // The late answer lies in the sleeper's socket until it wakes.
    for (const answer of answers) answer();
    receiver.answer = (response) => void response.writeHead(200).end('in time');
    await nodes.start(1);
    await until('the other node has taken over', () => receiver.requests.length === 2, leaseMs + 30_000);
    assert.ok(performance.now() - pausedAt > leaseMs - 5_000, 'not before the lease had ended');
    const succeeded = ['succeeded', ['in time']];
    const untilSettled = (count: number) =>
      withStore(nodes.env, ({ db }) =>
        until(`${count} deliveries are settled`, async () => {
          const sql = "SELECT status, attempts FROM webhook_deliveries WHERE status <> 'pending' ORDER BY created_at";
          const rows = await db.all<{ status: string; attempts: string }>(sql);
          if (rows.length < count) return false;
          return rows.map(({ status, attempts }) => [
            status,
            JSON.parse(attempts).map((attempt: { response_body: string }) => attempt.response_body),
          ]);
        }),
      );
    assert.deepEqual(await untilSettled(1), [succeeded]);
    // Alone again, the sleeper settles the next delivery after the late answer.
    await nodes.node(1).kill();
    nodes.node(0).resume();
    assert.equal((await post(`${nodes.urls[0]}/v1/tips`, { amount: 2, name: 'NEXT' }, headers)).status, 201);
    assert.deepEqual(await untilSettled(2), [succeeded, succeeded]);
    const ids = receiver.requests.map(({ headers }) => headers['webhook-id']);
    assert.deepEqual([ids.length, ids[0] === ids[1], ids[1] === ids[2]], [3, true, false]);
  });
});

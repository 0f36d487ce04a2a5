import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { verifyWebhook } from '@namjai/sdk/webhooks';
import { until } from '../../../sdk/test/until.ts';
import { storageSettings } from '../../test/build-app.ts';
import { runCommand, startCommand } from '../../test/cli-process.ts';
import { basic, makeApp, makePair } from '../../test/factories.ts';
import { type Received, startReceiver } from '../../test/receiver.ts';
import { freePort, startServer } from '../../test/server-process.ts';
import { listen } from '../../test/sockets.ts';
import { sameIssuer, withStore } from '../../test/store.ts';
import { temporaryDirectory } from '../../test/temporary-directory.ts';

/** A server as a process of its own, and the environment of a developer who has nothing of it but an app. */
async function setup(t: TestContext) {
  const env = { ...(await storageSettings(t)), ...sameIssuer };
  const pair = await withStore(env, (runtime) => makePair(runtime));
  const port = await freePort();
  let server = await startServer({ env, port });
  t.after(() => server.kill());
  const developer = {
    XDG_CONFIG_HOME: temporaryDirectory(t),
    NAMJAI_CLIENT_ID: pair.clientId,
    NAMJAI_CLIENT_SECRET: pair.clientSecret,
  };
  return {
    pair,
    developer,
    url: server.url,
    kill: () => server.kill(),
    async restart() {
      server = await startServer({ env, port });
    },
    async tip() {
      const response = await fetch(`${server.url}/v1/tips`, {
        method: 'POST',
        headers: { ...pair.headers, 'content-type': 'application/json' },
        body: JSON.stringify({ amount: 20, name: 'SOMCHAI' }),
      });
      assert.equal(response.status, 201);
    },
    async deliveries(id: string) {
      const ask = () => fetch(`${server.url}/v1/webhooks/${id}/deliveries`, { headers: basic(pair) });
      let response = await ask();
      // The API refuses for a while whoever asks often.
      for (let tries = 0; response.status === 429 && tries < 120; tries += 1) {
        await delay(1_000);
        response = await ask();
      }
      const { data } = (await response.json()) as { data: { id: string; status: string; attempts: unknown[] }[] };
      return data;
    },
  };
}

test('listen gets the webhooks of a server that is not ours, through its kill, and until a newer one takes over', async (t) => {
  const { url, developer, tip, deliveries, kill, restart, pair } = await setup(t);
  const receiver = await startReceiver(t);
  const options = ['--server', url, '--forward-to', receiver.url.replace('127.0.0.1', 'localhost')];
  const listening = startCommand(t, developer, 'listen', ...options);
  const { secret, endpoint_id, listening: isListening } = await listening.line();
  assert.equal(isListening, true);
  await tip();
  const first = await listening.line();
  assert.deepEqual([first.type, first.status, first.error], ['tip.created', 204, null]);
  const [request] = receiver.requests;
  assert.ok(request);
  const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
  const event = await verifyWebhook({ body: request.body, headers, secret });
  assert.equal(event.id, first.id);
  assert.deepEqual(Object.keys(request.headers).sort(), [
    'connection',
    'content-length',
    'content-type',
    'host',
    'user-agent',
    'webhook-id',
    'webhook-signature',
    'webhook-timestamp',
  ]);

  // The receiver fails; a retry reaches it.
  receiver.answer = (response) => response.destroy();
  await tip();
  const failed = await listening.line();
  assert.equal(failed.status, null);
  assert.match(failed.error, /\S/);
  receiver.answer = (response) => response.writeHead(200).end('done');
  await until('the failure is logged', async () => (await deliveries(endpoint_id))[0]?.attempts.length === 1);
  const retried = await fetch(`${url}/v1/webhooks/${endpoint_id}/deliveries/${failed.delivery_id}/retry`, {
    method: 'POST',
    headers: basic(pair),
  });
  assert.equal(retried.status, 202);
  const again = await listening.line();
  assert.deepEqual([again.delivery_id, again.status], [failed.delivery_id, 200]);

  // The server is killed while a delivery is unanswered: it comes again.
  const before = receiver.requests.length;
  receiver.answer = () => {};
  await tip();
  await receiver.waitFor(before + 1);
  await kill();
  assert.equal((await listening.lineWith('listening')).listening, false);
  receiver.answer = (response) => response.writeHead(204).end();
  await restart();
  const reopened = await listening.lineWith('secret');
  assert.deepEqual([reopened.listening, reopened.secret], [true, secret], 'the secret stays the same');
  const idOf = (request?: Received) => request?.headers['webhook-id'];
  await until('it has come again', () =>
    receiver.requests.slice(before + 1).some((each) => idOf(each) === idOf(receiver.requests[before])),
  );
  await until('all have arrived', async () =>
    (await deliveries(endpoint_id)).every(({ status }) => status === 'succeeded'),
  );

  const newer = startCommand(t, developer, 'listen', ...options);
  assert.equal((await newer.line()).secret, secret);
  assert.equal(await listening.exit, 1);
  assert.equal((await listening.error()).code, 'listener_closed');
  assert.equal(await newer.stop(), 0);
});

test('listen says what is wrong: no server, none of ours, a wrong secret, no credentials, an odd address', async (t) => {
  const { address, runtime } = await listen(t);
  const { clientId, clientSecret } = await makeApp(runtime);
  const developer = {
    XDG_CONFIG_HOME: temporaryDirectory(t),
    NAMJAI_CLIENT_ID: clientId,
    NAMJAI_CLIENT_SECRET: clientSecret,
  };
  const url = `http://${address}`;
  const to = ['--forward-to', 'http://127.0.0.1:9/'];
  const other = await startReceiver(t);
  const cases: [env: Record<string, string>, args: string[], code: string][] = [
    [developer, ['--server', `localhost:${await freePort()}`, ...to], 'connection_failed'],
    [developer, ['--server', other.url, ...to], 'not_a_server'],
    [{ ...developer, NAMJAI_CLIENT_SECRET: 'njs_wrong' }, ['--server', url, ...to], 'client_invalid'],
    [{ ...developer, NAMJAI_CLIENT_SECRET: '' }, ['--server', url, ...to], 'client_missing'],
    [developer, to, 'server_missing'],
    [developer, ['--server', 'http://tips.example', ...to], 'url_invalid'],
    [developer, ['--server', url, '--forward-to', 'file:///etc/passwd'], 'url_invalid'],
  ];
  for (const [env, args, code] of cases) {
    const result = await runCommand(env, 'listen', ...args, '--json');
    assert.deepEqual([result.code, result.out], [1, ''], code);
    assert.equal(JSON.parse(result.err).error.code, code);
  }
  for (const args of [
    ['--creator', 'mali', ...to],
    ['--creator', 'mali', '--client', clientId, '--server', url, ...to],
  ])
    assert.equal((await runCommand(developer, 'listen', ...args)).code, 2);
});

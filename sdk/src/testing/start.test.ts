import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { until } from '../../test/until.ts';
import { createClient, NamjaiError } from '../index.ts';
import { verifyWebhook } from '../webhooks/index.ts';
import { startNamjai, type TestNamjai } from './index.ts';

let namjai: TestNamjai;
before(async () => {
  namjai = await startNamjai();
});
after(() => namjai.close());

test('makes creators, apps, grants and tips that the API knows', async () => {
  const creator = await namjai.creator({ displayName: 'น้ำ' });
  const app = await namjai.app({ name: 'Lights' });
  const grant = await namjai.grant({ creator, app, scope: 'profile.read tips.read' });
  const tip = await namjai.tip({ creator, amount: 20.5, display_name: 'สมชาย', message: 'hi' });
  const client = createClient({ baseUrl: namjai.baseUrl, ...grant });

  const me = await client.me();
  assert.deepEqual(
    [me.id, me.display_name, me.app.name, me.scope],
    [creator.id, 'น้ำ', 'Lights', 'profile.read tips.read'],
  );
  assert.deepEqual(await client.tips.get(tip.id), tip);
  await assert.rejects(client.alerts.send(), { code: 'insufficient_scope' });
});

test('its clock expires tokens, and a refresh brings new ones', async () => {
  const { app, ...grant } = await namjai.grant();
  let [tokens, refreshes] = [grant, 0];
  const client = createClient({
    baseUrl: namjai.baseUrl,
    async accessToken(refused) {
      if (refused === undefined) return tokens.accessToken;
      refreshes += 1;
      const body = {
        grant_type: 'refresh_token',
        refresh_token: tokens.refreshToken,
        client_id: app.clientId,
        client_secret: app.clientSecret,
      };
      const response = await fetch(`${namjai.baseUrl}/v1/oauth/token`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      const { access_token: accessToken, refresh_token: refreshToken } = await response.json();
      tokens = { ...tokens, accessToken, refreshToken };
      return accessToken;
    },
  });
  await client.me();
  assert.equal(refreshes, 0);
  await namjai.advance(grant.expiresIn * 1000 + 1000);
  const mine = createClient({ baseUrl: namjai.baseUrl, accessToken: grant.accessToken });
  await assert.rejects(mine.me(), { code: 'token_expired' });
  await Promise.all(Array.from({ length: 20 }, () => client.me()));
  assert.equal(refreshes, 1);
});

test('its sockets are cut, and what was missed follows', async (t) => {
  const { accessToken, creator } = await namjai.grant();
  const seen: number[] = [];
  const statuses: string[] = [];
  const connection = createClient({ baseUrl: namjai.baseUrl, accessToken }).events.connect({
    onEvent: ({ sequence }) => seen.push(sequence),
    onStatus: (status) => statuses.push(status),
  });
  t.after(() => connection.close());
  await until('it is live', () => connection.status === 'live');
  const first = (connection.position ?? 0) + 1;
  await namjai.tip({ creator });
  await until('the tip is told', () => seen.length === 1);
  assert.equal(await namjai.cutSockets(), 1);
  await namjai.tip({ creator });
  await until('what was missed is told', () => seen.length === 2);
  assert.deepEqual(seen, [first, first + 1]);
  assert.ok(statuses.includes('waiting'));
});

test('webhooks reach this machine', async (t) => {
  const bodies: Promise<unknown>[] = [];
  let secret = '';
  const receiver = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    bodies.push(
      verifyWebhook({ secret, headers: request.headers, body: Buffer.concat(chunks), now: () => Date.now() }),
    );
    response.writeHead(204).end();
  }).listen(0, '127.0.0.1');
  t.after(() => receiver.close());
  await once(receiver, 'listening');
  const address = receiver.address();
  assert.ok(address && typeof address === 'object');

  // Another test has moved the clock, by which deliveries are signed.
  const fresh = await startNamjai();
  t.after(() => fresh.close());
  const grant = await fresh.grant();
  const response = await fetch(`${fresh.baseUrl}/v1/webhooks`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Basic ${btoa(`${grant.app.clientId}:${grant.app.clientSecret}`)}`,
    },
    body: JSON.stringify({ url: `http://127.0.0.1:${address.port}/` }),
  });
  assert.equal(response.status, 201);
  ({ secret } = await response.json());
  const tip = await fresh.tip();
  await until('the webhook has come', () => bodies.length > 0);
  const event = (await bodies[0]) as { type: string; data: { tip: { id: string } } };
  assert.deepEqual([event.type, event.data.tip.id], ['tip.created', tip.id]);
});

test('says what is wrong: an unknown scope, a server that has ended', async () => {
  await assert.rejects(namjai.grant({ scope: 'tips.eat' }), /There is no scope "tips.eat"/);
  const other = await startNamjai();
  await other.close();
  await assert.rejects(other.tip(), /has ended/);
  await assert.rejects(createClient({ baseUrl: other.baseUrl, accessToken: 'x', retries: 0 }).me(), NamjaiError);
});

test('a public app has no secret, and its grant works', async () => {
  const app = await namjai.app({ public: true });
  assert.equal(app.clientSecret, null);
  const grant = await namjai.grant({ app, scope: 'tips.read' });
  assert.equal((await createClient({ baseUrl: namjai.baseUrl, ...grant }).me()).app.client_id, app.clientId);
});

test('the server ends with the process that started it, however that ends', async () => {
  const program = `
    import { startNamjai } from ${JSON.stringify(new URL('./index.ts', import.meta.url).href)};
    const { baseUrl } = await startNamjai();
    console.log(baseUrl);
    setInterval(() => {}, 1000);`;
  const parent = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [baseUrl] = await once(parent.stdout.setEncoding('utf8'), 'data');
  const isUp = () =>
    fetch(`${baseUrl.trim()}/healthz`).then(
      () => true,
      () => false,
    );
  assert.ok(await isUp());
  parent.kill('SIGKILL');
  await until('the server has ended', async () => !(await isUp()));
});

test('never starts where NODE_ENV is production', async (t) => {
  const before = process.env.NODE_ENV;
  t.after(() => {
    if (before === undefined) delete process.env.NODE_ENV;
    else process.env.NODE_ENV = before;
  });
  process.env.NODE_ENV = 'production';
  await assert.rejects(startNamjai(), /must not be production/);
});

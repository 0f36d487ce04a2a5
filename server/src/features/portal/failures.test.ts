import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { InjectOptions } from 'fastify';
import { until } from '../../../../sdk/test/until.ts';
import { buildApp, type TestApp } from '../../../test/build-app.ts';
import { basic, makeApp, makeCreator, makePair } from '../../../test/factories.ts';
import { signedInVisitor } from '../../../test/visitor.ts';
import { StorageUnavailable } from '../../platform/db/database.ts';

async function setup(t: Pick<TestContext, 'after'>) {
  const app = await buildApp(t);
  const developer = await makeCreator(app.runtime);
  const client = await makeApp(app.runtime, 'Goal Bot', developer.creatorId);
  const pair = await makePair(app.runtime, { app: client });
  const visitor = await signedInVisitor(app, developer.creatorId);
  return { ...app, developer, client, pair, visitor, url: `/developers/apps/${client.clientId}/failures` };
}

interface Stored {
  client_id: string;
  id: string;
  method: string;
  path: string;
  status: number;
  code: string;
  fields: string;
}

async function stored({ runtime }: Pick<TestApp, 'runtime'>): Promise<Stored[]> {
  await runtime.failures.flush();
  return runtime.db.all<Stored>('SELECT * FROM app_failures ORDER BY id');
}

const hours = ({ runtime }: Pick<TestApp, 'runtime'>) =>
  runtime.db.all<{ client_id: string; total: number; listed: number }>(
    'SELECT client_id, total, listed FROM app_failure_hours ORDER BY client_id, hour',
  );

/** An answer is recorded once it has been sent, which `inject` does not wait for. */
const recorded = (app: Pick<TestApp, 'runtime'>, count: number) =>
  until('the failures are recorded', async () => (await stored(app)).length >= count);

const row = (at: number, id = `req_${'0'.repeat(26)}`) => ({
  id,
  at,
  method: 'GET',
  path: '/v1/tips',
  status: 422,
  code: 'validation_failed',
  fields: '[]',
});
const requestId = (n: number) => `req_${String(n).padStart(26, '0')}`;
const textOf = (html: string) =>
  html
    .slice(html.indexOf('<main'))
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ');

test('what failed is listed with time, request id, path, status, code and the fields named', async (t) => {
  const app = await setup(t);
  const { http, runtime, visitor, url, pair, client, clock } = app;
  assert.match(textOf((await visitor.get(url)).body), /Nothing has failed/);
  const narrow = await makePair(runtime, { app: client, scope: '' });
  const call = (options: InjectOptions) => {
    clock.advance(1);
    return http.inject(options);
  };
  const payload = { amount: -1, name: 'x', message: 'my secret words' };
  const answers = [
    await call({ method: 'POST', url: '/v1/tips', headers: pair.headers, payload }),
    await call({ url: '/v1/tips?limit=banana&cursor=abc', headers: pair.headers }),
    await call({ url: '/v1/tips/tip_01kaxk2t5v7f9sd3n8q6w4y0zr', headers: pair.headers }),
    await call({
      method: 'POST',
      url: '/v1/tips',
      headers: { ...pair.headers, 'content-type': 'application/json' },
      payload: '{',
    }),
    await call({ url: '/v1/profile', headers: narrow.headers }),
    await call({ method: 'POST', url: '/v1/webhooks', headers: basic(client), payload: { url: 'nonsense' } }),
    await call({
      method: 'POST',
      url: '/v1/oauth/token',
      payload: {
        grant_type: 'refresh_token',
        refresh_token: 'njr_x',
        client_id: client.clientId,
        client_secret: client.clientSecret,
      },
    }),
  ];
  clock.advance(3_600_000);
  answers.push(await call({ url: '/v1/me', headers: pair.headers }));
  const again = await makePair(runtime, { app: client });
  t.mock.method(runtime.profiles, 'profile', () => Promise.reject(new Error('a bug')), { times: 1 });
  answers.push(await call({ url: '/v1/profile', headers: again.headers }));
  t.mock.method(runtime.profiles, 'profile', () => Promise.reject(new StorageUnavailable('gone')), { times: 1 });
  answers.push(await call({ url: '/v1/profile', headers: again.headers }));
  for (let i = 0; i < 11; i++) {
    const tip = await call({
      method: 'POST',
      url: '/v1/tips',
      headers: again.headers,
      payload: { amount: 1, name: 'NOK' },
    });
    if (tip.statusCode >= 400) answers.push(tip);
  }
  await runtime.grants.revoke(again.creatorId, client.clientId, 'creator');
  answers.push(await call({ url: '/v1/me', headers: again.headers }));

  await recorded(app, answers.length);
  const found = await stored(app);
  assert.deepEqual(
    found.map(({ client_id, id, method, path, status, code, fields }) => [
      client_id,
      id,
      method,
      path,
      status,
      code,
      JSON.parse(fields),
    ]),
    [
      ['POST', '/v1/tips', 422, 'validation_failed', ['amount', 'name']],
      ['GET', '/v1/tips?limit=…&cursor=…', 422, 'validation_failed', ['limit', 'cursor']],
      ['GET', '/v1/tips/tip_01kaxk2t5v7f9sd3n8q6w4y0zr', 404, 'not_found', []],
      ['POST', '/v1/tips', 422, 'validation_failed', [null]],
      ['GET', '/v1/profile', 403, 'insufficient_scope', []],
      ['POST', '/v1/webhooks', 422, 'validation_failed', ['url']],
      ['POST', '/v1/oauth/token', 400, 'invalid_grant', []],
      ['GET', '/v1/me', 401, 'token_expired', []],
      ['GET', '/v1/profile', 500, 'internal_error', []],
      ['GET', '/v1/profile', 502, 'upstream_failed', []],
      ['POST', '/v1/tips', 429, 'rate_limited', []],
      ['GET', '/v1/me', 403, 'grant_unusable', []],
    ].map((rest, i) => [client.clientId, answers[i]?.headers['x-request-id'], ...rest]),
  );
  const { body } = await visitor.get(url);
  const text = textOf(body);
  assert.match(
    text,
    /POST \/v1\/tips 422 validation_failed Fields: amount name Request ID req_\w{26} 15 Nov 2026, 11:00/,
  );
  assert.match(text, /GET \/v1\/profile 502 upstream_failed Request ID/);
  assert.match(text, /Fields: the body/);
  assert.doesNotMatch(body, /my secret words|banana|njr_x/);
  const ids = [...text.matchAll(/req_\w{26}/g)].map(([id]) => id);
  assert.deepEqual(ids, found.map(({ id }) => id).reverse(), 'newest first');
  const thai = textOf((await visitor.get(url, { 'accept-language': 'th' })).body);
  assert.match(thai, /คำขอที่ล้มเหลว .* ฟิลด์: amount name รหัสคำขอ/);
});

test('security 52: no credential and no value is stored, wherever it stands in the address or in a field’s name', async (t) => {
  const app = await setup(t);
  const { http, pair, visitor, url } = app;
  const secret = `njs_${'aB3'.repeat(15)}`;
  const paths = [
    `/v1/tips/${secret}`,
    `/v1/tips/${encodeURIComponent(pair.accessToken)}`,
    `/v1/tips/%6e%6a%73_${'aB3'.repeat(15)}`,
    `/v1/tips?limit=0&token=${pair.accessToken}&${secret}=1`,
    `/v1/tips/${'x'.repeat(2000)}`,
    '/v1/tips/%3Cscript%3Ealert(1)%3C%2Fscript%3E',
  ];
  for (const path of paths) {
    const { statusCode } = await http.inject({ url: path, headers: pair.headers });
    assert.ok([404, 422].includes(statusCode), `${path} ${statusCode}`);
  }
  await recorded(app, paths.length);
  const all = JSON.stringify(await stored(app));
  for (const hidden of ['aB3aB3', pair.accessToken.slice(0, 40), pair.accessToken.slice(-40), 'xxxxxxxx'])
    assert.ok(!all.includes(hidden), hidden);
  const { body } = await visitor.get(url);
  assert.doesNotMatch(body, /<script>alert/);
});

test('what succeeds costs nothing, and what nobody was verified for is nobody’s: neither leaves a trace', async (t) => {
  const app = await setup(t);
  const { http, runtime, pair, client } = app;
  const record = t.mock.method(runtime.failures, 'record');
  const write = t.mock.method(runtime.db, 'write');
  for (let i = 0; i < 5; i++)
    assert.equal((await http.inject({ url: '/v1/me', headers: pair.headers })).statusCode, 200);
  const open = await runtime.apps.addPublic({ name: 'Deck', redirectUris: [], ownerId: null });
  write.mock.resetCalls();
  const forged = `${pair.accessToken.slice(0, -5)}AAAAA`;
  const strangers = [
    { url: '/v1/me' },
    { url: '/v1/me', headers: { authorization: `Bearer ${forged}` } },
    { url: '/v1/nothing', headers: pair.headers },
    { method: 'DELETE', url: '/v1/me', headers: pair.headers },
    { url: '/v1/webhooks', headers: basic({ ...client, clientSecret: 'wrong' }) },
    {
      method: 'POST',
      url: '/v1/oauth/token',
      payload: { grant_type: 'refresh_token', refresh_token: 'x', client_id: client.clientId, client_secret: 'wrong' },
    },
    // Whoever knows the id of a public app can call in its name.
    {
      method: 'POST',
      url: '/v1/oauth/token',
      payload: { grant_type: 'refresh_token', refresh_token: 'x', client_id: open.clientId },
    },
    { url: '/developers', headers: { accept: 'text/html' } },
  ] as const;
  for (const request of strangers) assert.ok((await http.inject(request)).statusCode >= 300);
  // What comes after them is recorded.
  await http.inject({ url: '/v1/tips?limit=0', headers: pair.headers });
  await until('the last one is recorded', () => record.mock.callCount() > 0);
  assert.equal(record.mock.callCount(), 1);
  const writes = write.mock.calls.map(({ arguments: [each] }) => (each as { name: string }).name);
  assert.ok(!writes.includes('addFailures'), 'no request waits for a write, nor causes one');
  assert.deepEqual(
    (await stored(app)).map(({ path }) => path),
    ['/v1/tips?limit=…'],
  );
});

test('a flood of one app is one write, 50 lines an hour, and a count', async (t) => {
  const app = await setup(t);
  const { runtime, http, pair, client, visitor, url, clock } = app;
  const write = t.mock.method(runtime.db, 'write');
  const adds = () =>
    write.mock.calls.filter(({ arguments: [each] }) => (each as { name: string }).name === 'addFailures');
  const record = t.mock.method(runtime.failures, 'record');
  const flood = Array.from({ length: 300 }, () => http.inject({ url: '/v1/tips?limit=0', headers: pair.headers }));
  await Promise.all(flood);
  await until('all are recorded', () => record.mock.callCount() === 300);
  assert.equal(adds().length, 0);
  await runtime.failures.flush();
  assert.equal(adds().length, 1);
  let built = 0;
  for (let i = 0; i < 984; i++)
    runtime.failures.record(client.clientId, (at) => {
      built += 1;
      return row(at, requestId(i));
    });
  assert.equal(built, 0, 'a full hour is only counted');
  assert.equal((await stored(app)).length, 50);
  assert.deepEqual(await hours(app), [{ client_id: client.clientId, total: 1284, listed: 50 }]);
  const text = textOf((await visitor.get(url)).body);
  assert.match(
    text,
    /and 1,234 more They failed in this hour too\. The first 50 of an hour are listed\. From 15 Nov 2026, 11:00/,
  );
  clock.advance(3_600_000);
  runtime.failures.record(client.clientId, (at) => row(at, requestId(5000)));
  assert.equal((await stored(app)).length, 51, 'the next hour has room again');
});

test('two nodes list 50 of an hour together, and count all', async (t) => {
  const app = await setup(t);
  const second = await buildApp(t, app.env);
  const others = await Promise.all(Array.from({ length: 12 }, () => makeApp(app.runtime)));
  for (const [n, { runtime }] of [app, second].entries())
    for (const { clientId } of [app.client, ...others])
      for (let i = 0; i < 40; i++) runtime.failures.record(clientId, (at) => row(at, requestId(n * 100 + i)));
  await Promise.all([app.runtime.failures.flush(), second.runtime.failures.flush()]);
  assert.equal((await stored(app)).length, 13 * 50);
  for (const { total, listed } of await hours(app)) assert.deepEqual([total, listed], [80, 50]);
});

test('what waits is bounded, and waits on while the storage can only be read', async (t) => {
  const app = await setup(t);
  const { runtime, client } = app;
  const write = t.mock.method(runtime.db, 'write', () => Promise.reject(new StorageUnavailable('gone')));
  for (let i = 0; i < 60; i++) runtime.failures.record(client.clientId, (at) => row(at, requestId(i)));
  assert.equal((await app.visitor.get(app.url)).statusCode, 200, 'the list is shown');
  for (let i = 60; i < 70; i++) runtime.failures.record(client.clientId, (at) => row(at, requestId(i)));
  let built = 0;
  for (let n = 0; n < 3_000; n++)
    for (let i = 0; i < 3; i++)
      runtime.failures.record(`app_${String(n).padStart(26, '0')}`, (at) => {
        built += 1;
        return row(at, requestId(i));
      });
  assert.ok(built <= 2_000, `${built} rows wait`);
  await runtime.failures.flush();
  assert.equal(write.mock.callCount(), 2, 'one try each time');
  write.mock.restore();
  const found = await stored(app);
  assert.equal(found.length, 50, 'once, and of apps that exist only');
  assert.deepEqual(await hours(app), [{ client_id: client.clientId, total: 70, listed: 50 }]);
});

test('pages tell each failure and each count once, in order of time', async (t) => {
  const { runtime, visitor, url, client, clock } = await setup(t);
  for (let hour = 0; hour < 3; hour++) {
    for (let i = 0; i < 60; i++) {
      runtime.failures.record(client.clientId, (at) => row(at, requestId(hour * 1000 + i)));
      if (i % 2) clock.advance(1000);
    }
    clock.advance(3_600_000);
  }
  const seen: string[] = [];
  let path: string | undefined = url;
  for (let pages = 0; path && pages < 10; pages++) {
    const { body } = await visitor.get(path);
    seen.push(...[...textOf(body).matchAll(/req_\d{26}|and \d+ more/g)].map(([line]) => line));
    path = /href="([^"]*failures\?before[^"]*)"/.exec(body)?.[1]?.replaceAll('&#61;', '=');
  }
  const expected = [2, 1, 0].flatMap((hour) => [
    ...Array.from({ length: 50 }, (_, i) => requestId(hour * 1000 + 49 - i)),
    'and 10 more',
  ]);
  assert.deepEqual(seen, expected);
  for (const bad of ['?before=x', '?before=1', `?before=1.${requestId(1)}x`, '?before=a&before=b', '?before=%00'])
    assert.equal((await visitor.get(url + bad)).statusCode, 422, bad);
});

test('after seven days nothing is shown, and the job leaves nothing of it', async (t) => {
  const app = await setup(t);
  const { runtime, visitor, url, client, clock } = app;
  for (let i = 0; i < 60; i++) runtime.failures.record(client.clientId, (at) => row(at, requestId(i)));
  await runtime.failures.flush();
  clock.advance(7 * 86_400_000 - 1);
  assert.match(textOf((await visitor.get(url)).body), /and 10 more|req_/);
  await runtime.failures.prune();
  assert.equal((await stored(app)).length, 50);
  clock.advance(2 + 3_600_000);
  const later = await signedInVisitor(app, app.developer.creatorId);
  assert.match(textOf((await later.get(url)).body), /Nothing has failed/);
  await runtime.failures.prune();
  assert.deepEqual([await stored(app), await hours(app)], [[], []]);
});

test('security 23: nobody else sees what failed, and it goes with the app', async (t) => {
  const app = await setup(t);
  const { runtime, client, url, developer } = app;
  runtime.failures.record(client.clientId, (at) => row(at));
  const other = await signedInVisitor(app, (await makeCreator(runtime)).creatorId);
  assert.equal((await other.get(url)).statusCode, 404);
  assert.equal((await stored(app)).length, 1);
  await runtime.grants.deleteApp(developer.creatorId, client.clientId);
  runtime.failures.record(client.clientId, (at) => row(at, requestId(2)));
  assert.deepEqual([await stored(app), await hours(app)], [[], []]);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../../../../test/build-app.ts';
import {
  approve,
  assertRefused,
  connect,
  exchange,
  parties,
  post,
  redirectUri,
  refresh,
  tokensOf,
} from '../../../../test/oauth.ts';
import { StorageUnavailable } from '../../../platform/db/database.ts';

const form = { 'content-type': 'application/x-www-form-urlencoded' };
const encode = (text: string) => encodeURIComponent(text).replaceAll('_', '%5F');
const basic = (id: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
});

test('security 8: JSON, a form with the secret, and a form with Basic, percent-encoded or not, all work', async (t) => {
  const app = await buildApp(t);
  const { creator, client } = await parties(app);
  const { clientId: client_id, clientSecret: client_secret } = client;
  const ways: [name: string, payload: object | string, headers: Record<string, string>][] = [
    ['JSON', { client_id, client_secret }, {}],
    ['form', new URLSearchParams({ client_id, client_secret }).toString(), form],
    [
      'form with a charset',
      new URLSearchParams({ client_id, client_secret }).toString(),
      {
        'content-type': 'application/x-www-form-urlencoded; charset=UTF-8',
      },
    ],
    ['Basic', '', { ...form, ...basic(client_id, client_secret) }],
    ['encoded Basic', '', { ...form, ...basic(encode(client_id), encode(client_secret)) }],
    ['Basic beside its own client_id', `client_id=${client_id}`, { ...form, ...basic(client_id, client_secret) }],
    ['JSON with Basic', {}, basic(client_id, client_secret)],
    ['JSON beside a stray bearer token', { client_id, client_secret }, { authorization: 'Bearer x' }],
  ];
  for (const [name, payload, headers] of ways) {
    const grant = { grant_type: 'authorization_code', redirect_uri: redirectUri };
    const code = await approve(app.runtime, creator, client);
    const body =
      typeof payload === 'string'
        ? `${payload}&${new URLSearchParams({ ...grant, code })}`
        : { ...payload, ...grant, code };
    const answer = await app.http.inject({ method: 'POST', url: '/v1/oauth/token', payload: body, headers });
    const { refresh_token, ...tokens } = tokensOf(answer);
    assert.deepEqual(
      Object.keys(answer.json()),
      ['access_token', 'refresh_token', 'token_type', 'expires_in', 'scope'],
      name,
    );
    assert.match(refresh_token, /^njr_[0-9a-z]{10}[A-Za-z0-9]{43}$/);
    assert.equal(tokens.expires_in, 3600);
    assert.equal(answer.json().token_type, 'Bearer');
    assert.equal(answer.headers['cache-control'], 'no-store');
    assert.equal(answer.headers['access-control-allow-origin'], undefined);
  }
});

test('security 8: other ways of sending credentials are refused, and nothing is used up', async (t) => {
  const app = await buildApp(t);
  const { creator, client } = await parties(app);
  const { clientId: client_id, clientSecret: client_secret } = client;
  const code = await approve(app.runtime, creator, client);
  const grant = { grant_type: 'authorization_code', redirect_uri: redirectUri, code };
  const send = (payload: object | string, headers = {}, query = '') =>
    app.http.inject({ method: 'POST', url: `/v1/oauth/token${query}`, payload, headers });
  const withBasic = basic(client_id, client_secret);

  assertRefused(await send({ ...grant, client_secret }, withBasic), 400, 'invalid_request');
  assertRefused(await send({ ...grant, client_id: 'app_other' }, withBasic), 400, 'invalid_request');
  const query = `?${new URLSearchParams({ client_id, client_secret })}`;
  assertRefused(await send(grant, {}, query), 400, 'invalid_request');
  assertRefused(await send({ ...grant, client_id, client_secret }, {}, query), 400, 'invalid_request');
  assertRefused(await send(grant, { authorization: `Bearer ${client_secret}` }), 401, 'invalid_client');
  assertRefused(await send(grant, { authorization: 'Basic !!!' }), 401, 'invalid_client');
  assertRefused(await send(JSON.stringify(grant), { 'content-type': 'text/plain' }), 415, 'invalid_request');
  assertRefused(await send({ ...grant, pad: 'x'.repeat(70_000) }), 413, 'invalid_request');
  for (const method of ['GET', 'PUT', 'DELETE'] as const)
    for (const path of ['token', 'revoke', 'introspect']) {
      const answer = await app.http.inject({ method, url: `/v1/oauth/${path}` });
      assertRefused(answer, 405, 'invalid_request');
      assert.equal(answer.headers.allow, 'POST');
    }
  tokensOf(await exchange(app.http, client, code));
});

test('security 9: a wrong secret and an unknown client get the same 401, and the code can still be used', async (t) => {
  const app = await buildApp(t);
  const { creator, client } = await parties(app);
  const code = await approve(app.runtime, creator, client);
  const wrong = await exchange(app.http, { ...client, clientSecret: client.clientSecret.slice(0, -1) }, code);
  const unknown = await exchange(app.http, { ...client, clientId: `app_${'0'.repeat(26)}` }, code);
  const absurd = await exchange(app.http, { ...client, clientId: "' OR 1=1 --" }, code);
  assertRefused(wrong, 401, 'invalid_client');
  assert.match(String(wrong.headers['www-authenticate']), /^Basic /);
  for (const other of [unknown, absurd]) {
    const shown = ({ 'x-request-id': _, date: __, ...headers }: typeof other.headers) => headers;
    assert.equal(other.statusCode, 401);
    assert.equal(other.body, wrong.body);
    assert.deepEqual(shown(other.headers), shown(wrong.headers));
  }
  tokensOf(await exchange(app.http, client, code));
});

test('security 10: fields missing, empty, null, of another type or sent twice are invalid_request', async (t) => {
  const app = await buildApp(t);
  const { creator, client } = await parties(app);
  const tokens = await connect(app, creator, client);
  const code = await approve(app.runtime, creator, client);
  const login = { client_id: client.clientId, client_secret: client.clientSecret };
  const requests = [
    { grant_type: 'authorization_code', ...login, code, redirect_uri: redirectUri },
    { grant_type: 'refresh_token', ...login, refresh_token: tokens.refresh_token },
  ];
  for (const good of requests) {
    for (const field of Object.keys(good)) {
      const { [field as 'client_id']: value, ...rest } = good;
      for (const bad of [undefined, '', null, [value], 5, true, { value }])
        assertRefused(await post(app.http, '/v1/oauth/token', { ...good, [field]: bad }), 400, 'invalid_request');
      assertRefused(await post(app.http, '/v1/oauth/token', rest), 400, 'invalid_request');
      const json = { 'content-type': 'application/json' };
      const twice = `${JSON.stringify(good).slice(0, -1)},"${field}":${JSON.stringify(value)}}`;
      const escaped = `${JSON.stringify(good).slice(0, -1)},"\\u00${field.charCodeAt(0).toString(16)}${field.slice(1)}":${JSON.stringify(value)}}`;
      const formTwice = `${new URLSearchParams(good)}&${new URLSearchParams({ [field]: value })}`;
      for (const [payload, headers] of [
        [twice, json],
        [escaped, json],
        [formTwice, form],
      ] as const)
        assertRefused(
          await app.http.inject({ method: 'POST', url: '/v1/oauth/token', payload, headers }),
          400,
          'invalid_request',
        );
    }
  }
  for (const payload of [
    '',
    '[]',
    '"x"',
    '5',
    'null',
    '{',
    '{"__proto__":{}}',
    `${'['.repeat(10_000)}`,
    '{"a":"\\u0000"}',
  ])
    assertRefused(
      await app.http.inject({
        method: 'POST',
        url: '/v1/oauth/token',
        payload,
        headers: { 'content-type': 'application/json' },
      }),
      400,
      'invalid_request',
    );
  for (const payload of ['%', 'grant_type', '&&&', '%00=%00', '\xff=1'])
    assertRefused(
      await app.http.inject({ method: 'POST', url: '/v1/oauth/token', payload, headers: form }),
      400,
      'invalid_request',
    );
  // None of all that used anything up, and what is nested or not ours may repeat and be ignored.
  const nested = `${JSON.stringify({ ...requests[1], more: { a: 1 } }).slice(0, -2)},"a":2}}`;
  const answer = await app.http.inject({
    method: 'POST',
    url: '/v1/oauth/token',
    payload: nested,
    headers: { 'content-type': 'application/json' },
  });
  tokensOf(answer);
  tokensOf(await exchange(app.http, client, code, { scope: null, code_verifier: '', creator_id: 'crt_x' }));
});

test('security 10: any other grant type is unsupported_grant_type', async (t) => {
  const app = await buildApp(t);
  const { client } = await parties(app);
  for (const grant_type of ['password', 'client_credentials', 'implicit', 'REFRESH_TOKEN', '__proto__', 'ไทย'])
    assertRefused(await refresh(app.http, client, 'njr_x', { grant_type }), 400, 'unsupported_grant_type');
});

test('storage that is gone is 502 temporarily_unavailable, and the token is not used up', async (t) => {
  const app = await buildApp(t);
  const { creator, client } = await parties(app);
  const tokens = await connect(app, creator, client);
  const { write } = app.runtime.db;
  Object.assign(app.runtime.db, { write: () => Promise.reject(new StorageUnavailable('gone')) });
  assertRefused(await refresh(app.http, client, tokens.refresh_token), 502, 'temporarily_unavailable');
  Object.assign(app.runtime.db, { write });
  tokensOf(await refresh(app.http, client, tokens.refresh_token));
});

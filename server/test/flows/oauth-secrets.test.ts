import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { exportJWK } from 'jose';
import { createLog } from '../../src/platform/log.ts';
import { buildApp } from '../build-app.ts';
import {
  approve,
  callMe,
  challengeOf,
  exchange,
  introspect,
  parties,
  refresh,
  revoke,
  tokensOf,
  verifier,
} from '../oauth.ts';

test('security 24: neither the database nor the log at trace level holds a code, token or secret', async (t) => {
  let logged = '';
  const log = createLog({ level: 'trace', stream: { write: (line) => (logged += line) } });
  const app = await buildApp(t, { LOG_LEVEL: 'trace' }, { log });
  const { http, runtime, directory } = app;
  const { creator, client } = await parties(app);
  const secrets = new Map<string, string>([['client secret', client.clientSecret]]);
  const keep = (name: string, ...values: string[]) => {
    for (const [i, value] of values.entries()) secrets.set(`${name} ${i}`, value);
  };

  const codes = [
    await approve(runtime, creator, client),
    await approve(runtime, creator, client, { codeChallenge: challengeOf(verifier) }),
  ];
  keep('code', ...codes);
  keep('verifier', verifier);
  const first = tokensOf(await exchange(http, client, codes[0]!));
  const repeatKey = 'the-key-of-a-repeatable-refresh';
  keep('key of a refresh', repeatKey);
  const withKey = () => refresh(http, client, first.refresh_token, {}, { 'idempotency-key': repeatKey });
  const lost = tokensOf(await withKey());
  const second = tokensOf(await withKey());
  const third = tokensOf(await exchange(http, client, codes[1]!, { code_verifier: verifier }));
  for (const [i, { access_token, refresh_token }] of [first, lost, second, third].entries()) {
    keep(`access token ${i}, part`, access_token, ...access_token.split('.').slice(1));
    keep(`refresh token ${i}, part`, refresh_token, refresh_token.slice(-43));
  }
  const rotated = await runtime.apps.rotateSecret(client.clientId);
  keep('rotated secret', rotated);
  const basic = Buffer.from(`${client.clientId}:${rotated}`).toString('base64');
  keep('Authorization', basic);
  keep(
    'signing key',
    String((await exportJWK((await runtime.keys.signing()).privateKey).catch(() => ({ d: 'none' }))).d),
  );

  // What goes wrong is logged too.
  await callMe(http, first.access_token);
  await callMe(http, `${first.access_token}x`);
  await exchange(http, client, codes[0]!);
  await refresh(http, client, first.refresh_token, { scope: 'more' });
  await http.inject({ url: `/v1/me?access_token=${second.access_token}` });
  await http.inject({ method: 'POST', url: `/v1/oauth/token?client_secret=${rotated}&code=${codes[1]}` });
  await http.inject({
    method: 'POST',
    url: '/v1/oauth/introspect',
    payload: { token: second.refresh_token },
    headers: { authorization: `Basic ${basic}` },
  });
  await http.inject({
    method: 'POST',
    url: '/v1/oauth/token',
    payload: `{"client_secret":"${rotated}",`,
    headers: { 'content-type': 'application/json' },
  });
  const { write } = runtime.db;
  Object.assign(runtime.db, { write: () => Promise.reject(new Error('a bug')) });
  assert.equal((await refresh(http, client, second.refresh_token)).statusCode, 500);
  Object.assign(runtime.db, { write });
  await introspect(http, client, second.access_token);
  await revoke(http, client, second.refresh_token);

  const files = readdirSync(directory).filter((name) => name !== 'secret.key');
  const dump = files.map((name) => readFileSync(join(directory, name), 'latin1')).join('\n');
  assert.ok(dump.includes(client.clientId), 'the dump is of this database');
  assert.ok(logged.includes('/v1/oauth/token') && logged.includes('a bug'), 'the log is of this run');
  assert.equal(secrets.size > 15, true);
  for (const [name, secret] of secrets)
    for (const [place, text] of Object.entries({ dump, logged })) {
      assert.ok(secret.length >= 20 || secret === 'none', name);
      assert.ok(!text.includes(secret), `${name} is in the ${place}`);
    }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../../../../test/build-app.ts';
import { assertRefused, callMe, connect, parties, refresh, revoke, tokensOf } from '../../../../test/oauth.ts';
import { execute } from '../../../../test/sql.ts';
import { hashSecret, newSecret } from '../../../platform/secrets.ts';
import { newRefreshToken, refreshKey } from './refresh-tokens.ts';

test('keys sort as their tokens were made, and every character of a token counts', () => {
  const times = [0, 1, 31, 32, 1e12, 1e12 + 1, Date.now(), 2 ** 48 - 1];
  const keys = times.map((at) => newRefreshToken(at).key);
  assert.deepEqual(keys.toSorted(), keys);
  const { token, key } = newRefreshToken(1e12);
  for (let i = 0; i < token.length; i++) {
    const other = token.slice(0, i) + (token[i] === '0' ? '1' : '0') + token.slice(i + 1);
    assert.notEqual(refreshKey(other).slice(-43), key.slice(-43));
  }
  assert.equal(refreshKey(token), key);
  for (const one of keys) assert.match(one, /^[0-9a-z]{10}[\w-]{43}$/);
});

test('a token that was made before there was a time in it is refreshed, forgiven, ends its family and is revoked', async (t) => {
  const app = await buildApp(t);
  const { creator, client } = await parties(app);
  /** As it was stored then. */
  const older = async (): Promise<string> => {
    const { refresh_token } = await connect(app, creator, client);
    const token = newSecret('njr');
    await execute(app.runtime.db, 'UPDATE refresh_tokens SET hash = $2 WHERE hash = $1', [
      refreshKey(refresh_token),
      hashSecret(token),
    ]);
    return token;
  };
  const used = await older();
  const { access_token, refresh_token } = tokensOf(await refresh(app.http, client, used));
  assertRefused(await refresh(app.http, client, used), 400, 'invalid_grant');
  assert.equal((await callMe(app.http, access_token)).statusCode, 200);
  tokensOf(await refresh(app.http, client, refresh_token));
  assertRefused(await refresh(app.http, client, used), 400, 'invalid_grant');
  assert.equal((await callMe(app.http, access_token)).json().error.code, 'grant_unusable');
  const revoked = await older();
  assert.equal((await revoke(app.http, client, revoked)).statusCode, 200);
  assertRefused(await refresh(app.http, client, revoked), 400, 'invalid_grant');
});

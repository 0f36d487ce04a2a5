import assert from 'node:assert/strict';
import { createHmac, createPublicKey } from 'node:crypto';
import { request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { exportJWK, generateKeyPair, type JWTHeaderParameters, type JWTPayload, SignJWT } from 'jose';
import { buildApp, type TestApp } from '../../../test/build-app.ts';
import { makePair } from '../../../test/factories.ts';
import { approve, callMe, parties } from '../../../test/oauth.ts';

const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const decode = (token: string): [header: JWTHeaderParameters, payload: JWTPayload] => {
  const [header = '', payload = ''] = token.split('.');
  return [
    JSON.parse(Buffer.from(header, 'base64url').toString()),
    JSON.parse(Buffer.from(payload, 'base64url').toString()),
  ];
};

async function assertUnauthorized(app: TestApp, token: string, name: string): Promise<void> {
  const answer = await callMe(app.http, token);
  assert.deepEqual([answer.statusCode, answer.json().error.code], [401, 'token_invalid'], `${name}: ${answer.body}`);
  assert.match(String(answer.headers['www-authenticate']), /^Bearer error="invalid_token"/, name);
}

test('security 19: no header, another scheme, or a token elsewhere than in the header is 401', async (t) => {
  const app = await buildApp(t);
  const { accessToken } = await makePair(app.runtime);
  const cases: [url: string, headers: Record<string, string>, code: string][] = [
    ['/v1/me', {}, 'token_missing'],
    [`/v1/me?access_token=${accessToken}`, {}, 'token_missing'],
    ['/v1/me', { authorization: `Basic ${accessToken}` }, 'token_missing'],
    ['/v1/me', { authorization: accessToken }, 'token_missing'],
    ['/v1/me', { cookie: `access_token=${accessToken}` }, 'token_missing'],
    ['/v1/me', { authorization: 'Bearer' }, 'token_invalid'],
    ['/v1/me', { authorization: `Bearer ${accessToken} x` }, 'token_invalid'],
    ['/v1/me', { authorization: `Bearer ${accessToken.slice(0, -9)} ${accessToken.slice(-9)}` }, 'token_invalid'],
    ['/v1/me', { authorization: `Bearer ${accessToken.slice(0, -9)}\t${accessToken.slice(-9)}` }, 'token_invalid'],
    ['/v1/me', { authorization: `Bearer ${accessToken}, Bearer ${accessToken}` }, 'token_invalid'],
  ];
  for (const [url, headers, code] of cases) {
    const answer = await app.http.inject({ url, headers });
    assert.deepEqual([answer.statusCode, answer.json().error.code], [401, code], JSON.stringify(headers));
    assert.match(String(answer.headers['www-authenticate']), /^Bearer/);
  }
  for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEaReR'])
    assert.equal(
      (await app.http.inject({ url: '/v1/me', headers: { authorization: `${scheme} ${accessToken}` } })).statusCode,
      200,
    );
});

test('security 19: two Authorization headers are 401', async (t) => {
  const app = await buildApp(t);
  const { accessToken } = await makePair(app.runtime);
  await app.http.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.http.server.address() as AddressInfo;
  const header = `Bearer ${accessToken}`;
  const status = await new Promise((resolve, reject) =>
    request({
      port,
      host: '127.0.0.1',
      path: '/v1/me',
      headers: ['Host', `127.0.0.1:${port}`, 'Authorization', header, 'Authorization', header],
    })
      .on('response', (response) => {
        response.resume();
        resolve(response.statusCode);
      })
      .on('error', reject)
      .end(),
  );
  assert.equal(status, 401);
});

test('security 20: forged and foreign tokens are 401', async (t) => {
  const app = await buildApp(t);
  const { accessToken } = await makePair(app.runtime);
  const [header, payload] = decode(accessToken);
  const [, , signature] = accessToken.split('.');
  const { keys } = await app.runtime.keys.publicSet();
  const publicJwk = keys[0]!;
  const mine = await generateKeyPair('ES256', { extractable: true });
  const myJwk = await exportJWK(mine.publicKey);
  const signedByMe = (more: object) =>
    new SignJWT(payload).setProtectedHeader({ ...header, ...more, alg: 'ES256' }).sign(mine.privateKey);
  const unsigned = (head: object) => `${encode(head)}.${encode(payload)}`;
  const hmac = (secret: string | Buffer) => {
    const text = unsigned({ ...header, alg: 'HS256' });
    return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`;
  };
  const pem = createPublicKey({ key: publicJwk as Record<string, string>, format: 'jwk' }).export({
    type: 'spki',
    format: 'pem',
  });
  const forged: Record<string, string> = {
    'alg none': `${unsigned({ ...header, alg: 'none' })}.`,
    'alg none with a signature': `${unsigned({ ...header, alg: 'none' })}.${signature}`,
    'alg NoNe': `${unsigned({ ...header, alg: 'NoNe' })}.`,
    'no alg': `${unsigned({ typ: header.typ, kid: header.kid })}.${signature}`,
    'no signature': `${unsigned(header)}.`,
    'HS256 with the PEM': hmac(pem),
    'HS256 with the JWK': hmac(JSON.stringify(publicJwk)),
    'HS256 with x': hmac(Buffer.from(String(publicJwk.x), 'base64url')),
    'another key under our kid': await signedByMe({}),
    'an embedded jwk': await signedByMe({ jwk: myJwk }),
    'an embedded jwk without kid': await signedByMe({ jwk: myJwk, kid: undefined }),
    'a jku': await signedByMe({ jku: 'http://127.0.0.1:9/jwks.json', kid: 'x' }),
    'an x5u': await signedByMe({ x5u: 'http://127.0.0.1:9/cert.pem', kid: 'x' }),
    'a path as kid': await signedByMe({ kid: '../../../../dev/null' }),
    'SQL as kid': await signedByMe({ kid: "' OR 1=1; DROP TABLE signing_keys; --" }),
    'a long kid': await signedByMe({ kid: 'k'.repeat(10_000) }),
    'a kid of Object': await signedByMe({ kid: '__proto__' }),
    'another payload': `${encode(header)}.${encode({ ...payload, sub: 'crt_other' })}.${signature}`,
    'not a JWT': 'abc',
    dots: '...',
  };
  for (const [name, token] of Object.entries(forged)) await assertUnauthorized(app, token, name);
});

test('security 20: our own signature does not save wrong or missing claims, or another kind of token', async (t) => {
  const app = await buildApp(t);
  const { creator, client } = await parties(app);
  const pair = await makePair(app.runtime, { creator, app: client });
  const [header, payload] = decode(pair.accessToken);
  const { privateKey } = await app.runtime.keys.signing();
  const signed = (claims: object, head: object = {}) =>
    new SignJWT({ ...payload, ...claims }).setProtectedHeader({ ...header, ...head, alg: 'ES256' }).sign(privateKey);
  assert.equal((await callMe(app.http, await signed({}))).statusCode, 200, 'the forger’s tools work');
  const changes: [name: string, claims: object, head?: object][] = [
    ...['iss', 'aud', 'sub', 'exp', 'iat', 'jti', 'client_id', 'grant_id', 'family_id', 'scope'].map(
      (claim): [string, object] => [`no ${claim}`, { [claim]: undefined }],
    ),
    ['another iss', { iss: 'https://evil.example' }],
    ['another aud', { aud: 'https://evil.example' }],
    ['the audience of sockets', { aud: `${app.runtime.config.baseUrl}/v1/socket` }],
    ['exp as text', { exp: '9999999999' }],
    ['not yet valid', { nbf: 9_999_999_999 }],
    ['another typ', {}, { typ: 'JWT' }],
    ['no typ', {}, { typ: undefined }],
    ['the typ of sockets', {}, { typ: 'socket+jwt' }],
    ['an unknown crit', {}, { crit: ['x'], x: 1 }],
  ];
  for (const [name, claims, head] of changes) {
    const token = await signed(claims, head).catch(() => undefined);
    if (token) await assertUnauthorized(app, token, name);
    else assert.equal(name, 'an unknown crit');
  }
  const socket = await app.http.inject({ url: '/v1/socket/token', headers: pair.headers });
  const others = { 'socket token': socket.json().token, RT: pair.refreshToken, secret: client.clientSecret };
  for (const [name, token] of Object.entries(others)) await assertUnauthorized(app, String(token), name);
  await assertUnauthorized(app, await approve(app.runtime, creator, client), 'code');
  const expired = await signed({ exp: app.clock() / 1000 });
  assert.equal((await callMe(app.http, expired)).json().error.code, 'token_expired');
});

test('security 21: a scope that only resembles the needed one does not satisfy it', async (t) => {
  const app = await buildApp(t);
  const pair = await makePair(app.runtime, { scope: 'tips.read' });
  const [header, payload] = decode(pair.accessToken);
  const { privateKey } = await app.runtime.keys.signing();
  for (const scope of [
    'tips.create2',
    'tips',
    'TIPS.CREATE',
    'tips.create.all',
    'xtips.create',
    'tips.*',
    'tips.read\ttips.create',
    'tips.create',
  ]) {
    const token = await new SignJWT({ ...payload, scope })
      .setProtectedHeader({ ...header, alg: 'ES256' })
      .sign(privateKey);
    const answer = await app.http.inject({
      method: 'POST',
      url: '/v1/tips',
      headers: { authorization: `Bearer ${token}` },
      payload: { amount: 1, name: 'AB' },
    });
    assert.deepEqual(
      [answer.statusCode, answer.json().error.code, answer.json().error.message],
      [403, 'insufficient_scope', 'This endpoint requires scope: tips.create'],
      scope,
    );
  }
});

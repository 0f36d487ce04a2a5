import assert from 'node:assert/strict';
import { generateKeyPairSync, verify } from 'node:crypto';
import { test } from 'node:test';
import { decodeProtectedHeader, jwtVerify } from 'jose';
import { signJwt } from './sign-jwt.ts';

const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const header = { alg: 'ES256', typ: 'at+jwt', kid: 'one' };
const sign = (claims: object) => signJwt(JSON.stringify(header), JSON.stringify(claims), privateKey);

test('a signed JWT says what it was given, and a library of others verifies it', async () => {
  const claims = { sub: 'crt_1', scope: 'tips.read', name: 'น้ำใจ' };
  const token = sign(claims);
  assert.deepEqual(decodeProtectedHeader(token), header);
  assert.deepEqual((await jwtVerify(token, publicKey, { algorithms: ['ES256'], typ: 'at+jwt' })).payload, claims);
});

test('every signature has 64 bytes and verifies, also where r or s begins with zeros', () => {
  let short = 0;
  // One signature in 128 has a number that is shorter than 32 bytes; none in 2,000 has a chance of 2e-7.
  for (let jti = 0; jti < 2_000; jti++) {
    const token = sign({ jti });
    const dot = token.lastIndexOf('.');
    const signature = Buffer.from(token.slice(dot + 1), 'base64url');
    assert.equal(signature.length, 64);
    if (signature[0] === 0 || signature[32] === 0) short += 1;
    const text = Buffer.from(token.slice(0, dot));
    assert(verify('sha256', text, { key: publicKey, dsaEncoding: 'ieee-p1363' }, signature), token);
  }
  assert(short > 0);
});

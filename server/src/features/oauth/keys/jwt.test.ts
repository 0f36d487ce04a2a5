import assert from 'node:assert/strict';
import { generateKeyPairSync, verify } from 'node:crypto';
import { test } from 'node:test';
import { decodeProtectedHeader, jwtVerify } from 'jose';
import { encode, openJwt, signJwt } from './jwt.ts';

const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const header = { alg: 'ES256', typ: 'at+jwt', kid: 'one' };
const encoded = encode(JSON.stringify(header));
const sign = (claims: object) => signJwt(encoded, JSON.stringify(claims), privateKey);
const open = (token: string) => openJwt(token, encoded, publicKey);

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
    assert.deepEqual(open(token), { jti });
  }
  assert(short > 0);
});

test('security 20: a token that differs in any character or in its header is not opened', () => {
  const token = sign({ sub: 'crt_1' });
  const { publicKey: another } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  assert.deepEqual(open(token), { sub: 'crt_1' });
  assert.equal(openJwt(token, encoded, another), undefined);
  assert.equal(openJwt(token, encode(JSON.stringify({ ...header, typ: 'socket+jwt' })), publicKey), undefined);
  for (let at = 0; at < token.length; at++)
    for (const other of ['A', 'z', '-', '.', '=', ' ', '+', 'é', '']) {
      if (token[at] === other) continue;
      const changed = `${token.slice(0, at)}${other}${token.slice(at + 1)}`;
      assert.equal(open(changed), undefined, changed);
    }
  for (const changed of ['', '.', `${token}A`, `A${token}`, `${token}.`, `${token}.${token}`, token.slice(0, -86)])
    assert.equal(open(changed), undefined, changed);
});

test('security 20: whatever 64 bytes are given as a signature, a library of others agrees that it is none', async () => {
  const text = sign({ sub: 'crt_1' }).slice(0, -86);
  // Zero, the group's order, one more, one less, and the highest; alone, and as r with any s.
  const order = Buffer.from('ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551', 'hex');
  const near = [-1, 0, 1].map((more) => Buffer.concat([order.subarray(0, 31), Buffer.from([0x51 + more])]));
  const numbers = [Buffer.alloc(32), ...near, Buffer.alloc(32, 0xff), Buffer.alloc(32, 0x80), Buffer.alloc(32, 1)];
  for (const r of numbers)
    for (const s of numbers) {
      const token = text + Buffer.concat([r, s]).toString('base64url');
      assert.equal(open(token), undefined);
      await assert.rejects(jwtVerify(token, publicKey));
    }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVault, hashSecret, newSecret, SealBroken, sameHash, sameText } from './secrets.ts';

test('a secret has its prefix and 256 random bits of letters and digits', () => {
  const secrets = Array.from({ length: 500 }, () => newSecret('njs'));
  for (const secret of secrets) assert.match(secret, /^njs_[A-Za-z0-9]{43}$/);
  assert.equal(new Set(secrets).size, 500);
  // Each about 347 times: further than eight standard deviations away none would be once in 10^13.
  const characters = Map.groupBy(secrets.join('').replaceAll('njs_', ''), (one) => one);
  assert.equal(characters.size, 62);
  for (const [one, { length }] of characters) assert(length > 200 && length < 500, `${one} ${length} times`);
});

test('what is sealed opens with the same key and context only', () => {
  const vault = createVault('k'.repeat(32));
  const sealed = vault.seal('สวัสดี', 'webhook:1');
  assert.ok(!Buffer.from(sealed).includes('สวัสดี'));
  assert.equal(vault.open(sealed, 'webhook:1'), 'สวัสดี');
  assert.throws(() => vault.open(sealed, 'webhook:2'), SealBroken);
  assert.throws(() => createVault('K'.repeat(32)).open(sealed, 'webhook:1'), SealBroken);
  const altered = Buffer.from(sealed);
  altered[14]! ^= 1;
  assert.throws(() => vault.open(altered, 'webhook:1'), SealBroken);
});

test('each purpose signs with a key of its own', () => {
  const vault = createVault('k'.repeat(32));
  assert.notDeepEqual(vault.sign('cursor', 'x'), vault.sign('other', 'x'));
  assert.deepEqual(vault.sign('cursor', 'x'), createVault('k'.repeat(32)).sign('cursor', 'x'));
});

test('texts are compared whole', () => {
  assert.equal(sameText('abc', 'abc'), true);
  assert.equal(sameText('abc', 'abcd'), false);
  assert.equal(sameText('', 'a'), false);
});

test('hashes are compared whole', () => {
  const [hash, other] = [hashSecret('njs_a'), hashSecret('njs_b')];
  assert.equal(sameHash(hash, hashSecret('njs_a')), true);
  assert.equal(sameHash(hash, other), false);
  assert.equal(sameHash(hash, `${hash.slice(0, -1)}${hash.endsWith('A') ? 'B' : 'A'}`), false);
  assert.equal(sameHash(hash, ''), false);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashSecret, newSecret, sameHash, sameText } from './secrets.ts';

test('a secret has its prefix and 256 random bits of letters and digits', () => {
  const secrets = Array.from({ length: 500 }, () => newSecret('njs'));
  for (const secret of secrets) assert.match(secret, /^njs_[A-Za-z0-9]{43}$/);
  assert.equal(new Set(secrets).size, 500);
  // Each about 347 times: further than eight standard deviations away none would be once in 10^13.
  const characters = Map.groupBy(secrets.join('').replaceAll('njs_', ''), (one) => one);
  assert.equal(characters.size, 62);
  for (const [one, { length }] of characters) assert(length > 200 && length < 500, `${one} ${length} times`);
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

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createVault, isSigned, SealBroken } from './vault.ts';

const [first, second] = ['k'.repeat(32), 'K'.repeat(32)];

test('what is sealed opens with the same key and context only', () => {
  const vault = createVault(first);
  const sealed = vault.seal('สวัสดี', 'webhook:1');
  assert.ok(!Buffer.from(sealed).includes('สวัสดี'));
  assert.equal(vault.open(sealed, 'webhook:1'), 'สวัสดี');
  assert.throws(() => vault.open(sealed, 'webhook:2'), SealBroken);
  assert.throws(() => createVault(second).open(sealed, 'webhook:1'), SealBroken);
  assert.throws(() => vault.open(sealed.subarray(0, 20), 'webhook:1'), SealBroken);
  const altered = Buffer.from(sealed);
  altered[14]! ^= 1;
  assert.throws(() => vault.open(altered, 'webhook:1'), SealBroken);
});

test('each purpose signs with a key of its own', () => {
  const vault = createVault(first);
  assert.notDeepEqual(vault.sign('cursor', 'x'), vault.sign('other', 'x'));
  assert.deepEqual(vault.sign('cursor', 'x'), createVault(first).sign('cursor', 'x'));
});

test('two keys: both open and verify, the old one seals and signs until it is told otherwise', () => {
  const [old, both, fresh] = [createVault(first), createVault(second, first), createVault(second)];
  const mac = (vault: typeof old) => vault.sign('csrf', 'x').toString('base64url');
  assert.equal(old.open(both.seal('a', 'c'), 'c'), 'a');
  assert.ok(isSigned(old, 'csrf', 'x', mac(both)));
  const before = both.seal('a', 'c');
  const macBefore = mac(both);

  both.sealWith(both.keyId);
  const after = both.seal('b', 'c');
  assert.deepEqual([both.open(before, 'c'), both.open(after, 'c'), fresh.open(after, 'c')], ['a', 'b', 'b']);
  assert.deepEqual([both.keyOf(before, 'c'), both.keyOf(after, 'c')], [old.keyId, fresh.keyId]);
  assert.throws(() => old.open(after, 'c'), SealBroken);
  assert.deepEqual([both.hasLabel(before, old.keyId), both.hasLabel(after, fresh.keyId)], [false, true]);
  assert.ok(isSigned(both, 'csrf', 'x', macBefore) && isSigned(fresh, 'csrf', 'x', mac(both)));
  assert.ok(!isSigned(fresh, 'csrf', 'x', macBefore) && !isSigned(both, 'csrf', 'y', macBefore));
});

test('a vault without the key that seals opens what it can, and seals nothing', () => {
  const old = createVault(first);
  const sealed = old.seal('a', 'c');
  old.sealWith(createVault(second).keyId);
  assert.equal(old.sealingKey(), undefined);
  assert.equal(old.open(sealed, 'c'), 'a');
  assert.throws(() => old.seal('b', 'c'), /SECRET_KEY was replaced/);
});

test('the id of a key does not hold the key', () => {
  const { keyId } = createVault(first);
  assert.match(keyId, /^[0-9a-f]{16}$/);
  assert.notEqual(keyId, createVault(second).keyId);
  assert.ok(!Buffer.from(keyId, 'hex').includes(first.slice(0, 3)));
});

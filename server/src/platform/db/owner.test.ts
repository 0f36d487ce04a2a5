import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ownerOf } from './owner.ts';

test('the owner of a call is the first creator or app among its arguments', () => {
  assert.equal(ownerOf(['crt_1', 'app_1']), 'crt_1');
  assert.equal(ownerOf([1, 'tip_1', { clientId: 'app_1' }, 'crt_1']), 'crt_1');
  assert.equal(ownerOf([{ tipId: 'tip_1', voided: { creatorId: 'crt_1' } }]), 'crt_1');
  assert.equal(ownerOf([[{ key: null, creatorId: 'crt_1' }, { creatorId: 'crt_2' }]]), 'crt_1');
  assert.equal(ownerOf([{ clientId: 'app_1', at: 5 }]), 'app_1');
});

test('a call without an id of a creator or an app has no owner', () => {
  for (const args of [[], [null, 5, 'text crt_1', new Uint8Array(3)], [{ a: { b: { c: 'crt_1' } } }]])
    assert.equal(ownerOf(args), undefined);
});

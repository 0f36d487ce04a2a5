import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shareRefresh } from './access-token.ts';

test('refusals of one token share one refresh, also those that come late; the next token has its own', async () => {
  const asked: (string | undefined)[] = [];
  const get = shareRefresh(async (refused) => {
    asked.push(refused);
    return refused === undefined ? 'a' : `${refused}+`;
  });
  assert.equal(await get(), 'a');
  assert.deepEqual(await Promise.all([get('a'), get('a'), get('a')]), ['a+', 'a+', 'a+']);
  assert.equal(await get('a'), 'a+');
  assert.equal(await get('a+'), 'a++');
  assert.deepEqual(asked, [undefined, 'a', 'a+']);
});

test('a refresh that failed is told to all who wait, and tried again by the next', async () => {
  let tries = 0;
  const get = shareRefresh(async () => {
    tries += 1;
    if (tries === 1) throw new Error('away');
    return 'b';
  });
  const waiting = await Promise.allSettled([get('a'), get('a')]);
  assert.deepEqual(
    waiting.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  assert.equal(tries, 1);
  assert.equal(await get('a'), 'b');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../../../test/build-app.ts';
import { cookieValue } from './cookies.ts';

test('a cookie is found by its whole name, the first of several, with its value as it was sent', () => {
  for (const [header, value] of [
    [undefined, undefined],
    ['', undefined],
    ['a=1', '1'],
    ['b=2; a=1', '1'],
    ['b=2;a=1;c=3', '1'],
    ['b=2; \t a= 1 ; c', '1'],
    ['a=1; a=2', '1'],
    ['a=', ''],
    ['a', undefined],
    ['ba=1; b a=2; b=a=3', undefined],
    ['ba=1; a=2', '2'],
    ['A=1', undefined],
    ['a="1"; b', '"1"'],
    ['a=%4; b', '%4'],
    ['a=b=c', 'b=c'],
  ] as const)
    assert.equal(cookieValue(header, 'a'), value, header);
});

test('security 42: a page decodes none of thousands of cookies', async (t) => {
  const { http } = await buildApp(t);
  await http.inject('/login');
  const { mock } = t.mock.method(globalThis, 'decodeURIComponent');
  const cookie = Array.from({ length: 5000 }, (_, i) => `a${i}=%4`).join('; ');
  assert.equal((await http.inject({ url: '/login', headers: { cookie } })).statusCode, 200);
  assert.ok(mock.callCount() < 10, `${mock.callCount()} were decoded`);
});

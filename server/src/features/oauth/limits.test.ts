import assert from 'node:assert/strict';
import { test } from 'node:test';
import { send } from '../../../test/api-cases.ts';
import { buildApp } from '../../../test/build-app.ts';
import { makePair } from '../../../test/factories.ts';

const reads = [
  '/v1/me',
  '/v1/profile',
  '/v1/tips',
  '/v1/tips/stats',
  '/v1/tips/tip_unknown',
  '/v1/events',
  '/v1/socket/token',
  '/v1/tips?limit=0',
];

const groups = [
  { group: 'read', limit: 120, request: (i: number) => ({ url: reads[i % reads.length] ?? '/v1/me' }) },
  { group: 'tips', limit: 10, request: () => ({ method: 'POST', url: '/v1/tips', body: { amount: 1, name: 'AB' } }) },
  { group: 'voids', limit: 10, request: () => ({ method: 'POST', url: '/v1/tips/tip_unknown/void' }) },
  { group: 'alerts', limit: 30, request: () => ({ method: 'POST', url: '/v1/alerts' }) },
] as const;

for (const { group, limit, request } of groups) {
  test(`the ${limit + 1}th request of the group ${group} in a minute gets 429, and waiting Retry-After succeeds`, async (t) => {
    const app = await buildApp(t);
    const pair = await makePair(app.runtime);
    const others = [await makePair(app.runtime, { creator: pair }), await makePair(app.runtime, { app: pair })];
    for (let i = 0; i < limit; i++) {
      const answer = await send(app, pair, request(i));
      assert.notEqual(answer.statusCode, 429, `request ${i + 1}`);
      assert.equal(answer.headers['ratelimit-policy'], `"${group}";q=${limit};w=60`);
      assert.match(String(answer.headers.ratelimit), new RegExp(`^"${group}";r=${limit - i - 1};t=\\d+$`));
      app.clock.advance(100);
    }
    const over = await send(app, pair, request(0));
    assert.equal(over.statusCode, 429);
    assert.equal(over.json().error.code, 'rate_limited');
    const wait = Number(over.headers['retry-after']);
    assert.equal(over.headers.ratelimit, `"${group}";r=0;t=${wait}`);
    assert.equal(wait, Math.ceil((60_000 - limit * 100) / 1000));
    for (const other of others)
      assert.notEqual((await send(app, other, request(0))).statusCode, 429, 'another app or creator');
    for (const free of groups.filter((one) => one.group !== group))
      assert.notEqual(
        (await send(app, pair, free.request(0))).statusCode,
        429,
        `group ${free.group} has its own count`,
      );

    app.clock.advance(60_000 - limit * 100 - 1);
    assert.equal((await send(app, pair, request(0))).statusCode, 429, 'a millisecond before the oldest leaves');
    app.clock.advance(1);
    assert.notEqual((await send(app, pair, request(0))).statusCode, 429);
    assert.equal((await send(app, pair, request(0))).statusCode, 429, 'one left, one came');
  });
}

test('what is refused before the limit is not counted', async (t) => {
  const app = await buildApp(t);
  const pair = await makePair(app.runtime, { scope: 'tips.read' });
  for (let i = 0; i < 130; i++) {
    const { statusCode, headers } = await send(app, pair, { url: '/v1/profile' });
    assert.equal(statusCode, 403);
    assert.equal(headers.ratelimit, undefined);
  }
  assert.equal((await send(app, pair, { url: '/v1/tips' })).headers.ratelimit, '"read";r=119;t=60');
});

test('HEAD of a protected path is counted like its GET', async (t) => {
  const app = await buildApp(t);
  const pair = await makePair(app.runtime);
  await send(app, pair, { url: '/v1/me', method: 'HEAD' });
  assert.equal((await send(app, pair, { url: '/v1/me' })).headers.ratelimit, '"read";r=118;t=60');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { basic, makeApp } from '../../../../test/factories.ts';
import { executeAll } from '../../../../test/sql.ts';
import { buildWebhooks } from '../../../../test/webhooks.ts';
import { firstId } from '../../../platform/ids.ts';

const hook = 'https://receiver.test/hook';

test('security 39: every call of /v1/webhooks is counted for the app, 120 a minute over all its endpoints', async (t) => {
  const { call, http, runtime, clock } = await buildWebhooks(t);
  const first = await call('POST', '', { url: hook });
  assert.equal(first.headers['ratelimit-policy'], '"manage";q=120;w=60');
  assert.equal(first.headers.ratelimit, '"manage";r=119;t=60');
  const { id } = first.json();
  // What fails counts as well.
  assert.equal((await call('POST', '', { url: 'nothing' })).headers.ratelimit, '"manage";r=118;t=60');
  assert.equal((await call('GET', '/whk_none')).headers.ratelimit, '"manage";r=117;t=60');
  const kinds: Parameters<typeof call>[] = [
    ['GET', ''],
    ['GET', `/${id}`],
    ['PATCH', `/${id}`, {}],
    ['GET', `/${id}/deliveries`],
  ];
  for (let i = 0; i < 117; i++) assert.notEqual((await call(...kinds[i % kinds.length]!)).statusCode, 429);
  const refused = await call('GET', '');
  assert.equal(refused.statusCode, 429);
  assert.equal(refused.json().error.code, 'rate_limited');
  assert.equal(refused.headers['retry-after'], '60');
  assert.equal(refused.headers.ratelimit, '"manage";r=0;t=60');
  const ping = await call('POST', `/${id}/ping`);
  assert.deepEqual([ping.statusCode, ping.headers.ratelimit], [429, '"manage";r=0;t=60'], 'a ping is one of them');

  const other = await makeApp(runtime);
  const answer = await http.inject({ url: '/v1/webhooks', headers: basic(other) });
  assert.equal(answer.statusCode, 200, 'another app is not affected');
  const wrong = await http.inject({ url: '/v1/webhooks', headers: basic({ ...other, clientSecret: 'njs_wrong' }) });
  assert.deepEqual([wrong.statusCode, wrong.headers.ratelimit], [401, undefined], 'nor is who is not let in');
  clock.advance(60_000);
  const later = await call('POST', `/${id}/ping`);
  assert.deepEqual([later.statusCode, later.headers.ratelimit], [202, '"send";r=9;t=60'], 'and nothing was counted');
});

test('security 39: pings, retries and replays share ten a minute, in the portal too; what they refuse is not managed', async (t) => {
  const { call, clock, runtime, pair } = await buildWebhooks(t);
  const { id } = (await call('POST', '', { url: hook })).json();
  const ping = await call('POST', `/${id}/ping`);
  assert.equal(ping.headers['ratelimit-policy'], '"send";q=10;w=60');
  const kinds: Parameters<typeof call>[] = [
    ['POST', `/${id}/ping`],
    ['POST', `/${id}/deliveries/${ping.json().id}/retry`],
    ['POST', `/${id}/replay`, { from: '2026-11-15', to: '2026-11-16' }],
  ];
  for (let i = 1; i < 9; i++) {
    const answer = await call(...kinds[i % 3]!);
    assert.equal(answer.statusCode, 202);
    assert.equal(answer.headers.ratelimit, `"send";r=${9 - i};t=60`);
  }
  await runtime.webhooks.limits.send(pair.clientId);
  for (const kind of kinds) {
    const answer = await call(...kind);
    assert.deepEqual([answer.statusCode, answer.headers.ratelimit], [429, '"send";r=0;t=60']);
  }
  await assert.rejects(runtime.webhooks.limits.send(pair.clientId), { code: 'rate_limited' });
  const read = await call('GET', `/${id}`);
  assert.equal(read.headers.ratelimit, `"manage";r=${120 - 11};t=60`, 'the first, nine that were sent, and this');
  clock.advance(60_000);
  assert.equal((await call('POST', `/${id}/ping`)).statusCode, 202);
});

test('security 39: pings that come together at the end of the other calls do not exceed them', async (t) => {
  const { call } = await buildWebhooks(t);
  const { id } = (await call('POST', '', { url: hook })).json();
  for (let calls = 1; calls < 119; calls++) await call('GET', `/${id}`);
  const pings = await Promise.all(Array.from({ length: 5 }, () => call('POST', `/${id}/ping`)));
  assert.deepEqual(pings.map(({ statusCode }) => statusCode).sort(), [202, 429, 429, 429, 429]);
});

test('security 39: one replay queues at most 10,000 deliveries, and tells where the rest begins', async (t) => {
  const { call, clock, runtime } = await buildWebhooks(t);
  const { id } = (await call('POST', '', { url: hook })).json();
  const start = clock() - 86_400_000;
  // Two deliveries in each millisecond.
  const insert = `INSERT INTO webhook_deliveries
      (creator_id, endpoint_id, id, event_id, event_type, status, attempts, created_at, body)
    VALUES ('', $1, $2, $3, 'grant.revoked', 'failed', '[]', $4, '{}')`;
  const rows = Array.from({ length: 12_000 }, (_, i) => {
    const at = start + (i >> 1);
    return [insert, [id, `${firstId('dlv', at)}${String(i).padStart(16, '0')}`, `evt_${i}`, at]] as const;
  });
  while (rows.length > 0) await executeAll(runtime.db, ...rows.splice(0, 1_000));
  const span = (from: number) => ({ from: new Date(from).toISOString(), to: new Date(clock()).toISOString() });
  const first = (await call('POST', `/${id}/replay`, span(start))).json();
  assert.deepEqual(first, { queued: 10_000, next_from: new Date(start + 5_000).toISOString() });
  const second = (await call('POST', `/${id}/replay`, span(Date.parse(first.next_from)))).json();
  assert.deepEqual(second, { queued: 2_000, next_from: null });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../../../test/build-app.ts';
import { makePair } from '../../../test/factories.ts';

test('a recorded tip is answered, listed, counted and in the event log', async (t) => {
  const { http, runtime } = await buildApp(t);
  const { headers } = await makePair(runtime);
  const created = await http.inject({
    method: 'POST',
    url: '/v1/tips',
    headers,
    payload: { amount: 150.5, name: 'SOMCHAI' },
  });
  assert.equal(created.statusCode, 201, created.body);
  const tip = created.json();
  assert.equal(created.headers.location, `/v1/tips/${tip.id}`);
  const list = await http.inject({ url: '/v1/tips', headers });
  assert.deepEqual(list.json(), { data: [tip], next_cursor: null });
  const stats = await http.inject({ url: '/v1/tips/stats', headers });
  assert.deepEqual(stats.json().all_time, { total: 150.5, total_minor: 15050, count: 1 });
  const events = await http.inject({ url: '/v1/events', headers });
  assert.deepEqual(events.json().data[0].data, { tip });
});

import assert from 'node:assert/strict';
import { request } from 'node:http';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { until } from '../../../../sdk/test/until.ts';
import { buildApp } from '../../../test/build-app.ts';
import { makeCreator } from '../../../test/factories.ts';
import { signedInVisitor } from '../../../test/visitor.ts';

test('whoever goes away before a download begins leaves its slot to the next one', async (t) => {
  const app = await buildApp(t);
  const { creatorId } = await makeCreator(app.runtime);
  const { cookies } = await signedInVisitor(app, creatorId);
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const address = await app.http.listen({ host: '127.0.0.1', port: 0 });
  let socket: Socket | undefined;
  app.http.server.on('connection', (opened) => {
    socket = opened;
  });

  const { connectionSlots: slots } = app.runtime.limiter;
  const acquire = slots.acquire.bind(slots);
  const release = t.mock.method(slots, 'release');
  const acquired = t.mock.method(slots, 'acquire', async (key: string, most: number) => {
    const answer = await acquire(key, most);
    asked.socket?.resetAndDestroy();
    await until('the server has seen that', () => socket?.closed === true);
    return answer;
  });
  const asked = request(`${address}/dashboard/tips.csv`, { headers: { cookie } }).on('error', () => {});
  asked.end();
  await until('the slot is free again', () => release.mock.callCount() === 1);
  assert.deepEqual(
    [acquired.mock.callCount(), release.mock.calls[0]?.arguments],
    [1, [`dashboard-export:${creatorId}`]],
  );
});

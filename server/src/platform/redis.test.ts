import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { until } from '../../../sdk/test/until.ts';
import { skipWithoutRedisServer, startRedisServer } from '../../test/redis.ts';
import { connectRedis } from './redis.ts';

describe('connection to Redis', { skip: skipWithoutRedisServer }, () => {
  test('closing while an attempt to connect is under way leaves nothing open', async (t) => {
    const redis = await startRedisServer();
    t.after(() => redis.stop());
    const other = await connectRedis({ url: redis.url });
    t.after(() => other.close());
    for (let round = 0; round < 10; round += 1) {
      const { client, close } = await connectRedis({ url: redis.url });
      client.destroy();
      const attempt = client.connect().catch(() => {});
      close();
      await attempt;
    }
    // The server may notice an end a little later.
    const list = async () => String(await other.client.sendCommand(['CLIENT', 'LIST']));
    const count = async () => (await list()).trim().split('\n').length;
    await until('nothing else is open', async () => (await count()) === 1);
  });

  test('pulses that come together do not blame the server', async (t) => {
    const redis = await startRedisServer();
    t.after(() => redis.stop());
    t.mock.timers.enable({ apis: ['setInterval'] });
    let now = performance.now();
    t.mock.method(performance, 'now', () => now);
    const { client, close } = await connectRedis({ url: redis.url, heartbeatMs: 100 });
    t.after(close);
    let ended = 0;
    client.on('end', () => {
      ended += 1;
    });
    now += 60;
    t.mock.timers.tick(2_000);
    await client.ping();
    assert.equal(ended, 0);
  });
});

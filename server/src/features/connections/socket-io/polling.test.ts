import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../../../../sdk/test/until.ts';
import { makePair } from '../../../../test/factories.ts';
import { makeKey } from '../../../../test/programs.ts';
import { type LiveApp, listen } from '../../../../test/sockets.ts';

/** A session over polling, and a function that sends a request of it and gives the status and the body. */
async function openSession({ address }: LiveApp, key: string, generation: 3 | 4) {
  const url = `http://${address}/socket.io/?EIO=${generation}&transport=polling&token=${key}`;
  const { sid } = JSON.parse(/\{.*\}/.exec(await (await fetch(url)).text())?.[0] ?? '');
  return async (body?: string): Promise<[number, string]> => {
    const answer = await fetch(`${url}&sid=${sid}`, body === undefined ? {} : { method: 'POST', body });
    return [answer.status, await answer.text()];
  };
}

test('a client that sends and never polls is closed before the answers to its pings pile up', async (t) => {
  const app = await listen(t);
  const { creatorId } = await makePair(app.runtime);
  const request = await openSession(app, await makeKey(app, creatorId), 3);
  assert.deepEqual(await request('1:2'.repeat(50)), [200, 'ok']);
  assert.deepEqual(await request(), [200, `2:40${'1:3'.repeat(50)}`]);
  await request('1:2'.repeat(1000));
  assert.equal((await request())[0], 400, 'there is no such session any more');
  assert.equal(app.runtime.streams.connected(creatorId, 'program'), 0);
});

test('a client may not send much in a second, in long requests or in many', async (t) => {
  const app = await listen(t);
  const { creatorId } = await makePair(app.runtime);
  const key = await makeKey(app, creatorId);
  const now = performance.now();
  t.mock.method(performance, 'now', () => now);
  for (const [body, allowed] of [
    [`4000:42["x","${'x'.repeat(3990)}"]`, 2],
    ['1:2', 32],
  ] as const) {
    const request = await openSession(app, key, 3);
    for (let sent = 0; sent < allowed; sent += 1) {
      assert.deepEqual(await request(body), [200, 'ok']);
      if (body === '1:2') assert.equal((await request())[0], 200);
    }
    assert.equal((await request(body))[0], 400, body.slice(0, 10));
  }
});

test('a session that Engine.IO has closed, and that does not poll to hear so, ends when it has to', async (t) => {
  const app = await listen(t);
  const { creatorId } = await makePair(app.runtime);
  const request = await openSession(app, await makeKey(app, creatorId), 4);
  await request('40');
  assert.match((await request())[1], /^40/);
  await request('42["newListener"]');
  const open = 'SELECT key_id FROM stream_key_nodes WHERE creator_id = $1';
  assert.equal((await app.runtime.db.all(open, [creatorId])).length, 1);
  await app.runtime.grants.suspend('creator', creatorId, app.clock());
  // By itself it would end after thirty seconds. A server that closes waits for it.
  await until('it has ended', async () => (await app.runtime.db.all(open, [creatorId])).length === 0, 20_000);
  await request();
});

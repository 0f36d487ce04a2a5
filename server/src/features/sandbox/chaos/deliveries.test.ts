import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { verifyWebhook } from '@namjai/sdk/webhooks';
import { basic, makePair } from '../../../../test/factories.ts';
import { startReceiver } from '../../../../test/receiver.ts';
import { makeSandboxPair } from '../../../../test/sandbox-pair.ts';
import { buildWebhooks } from '../../../../test/webhooks.ts';
import { decide, noShares } from './decide.ts';

async function setup(t: TestContext) {
  const receiver = await startReceiver(t);
  const app = await buildWebhooks(t);
  const pair = await makeSandboxPair(app.runtime);
  const added = await app.http.inject({
    method: 'POST',
    url: '/v1/webhooks',
    headers: basic(pair),
    payload: { url: receiver.url },
  });
  assert.equal(added.statusCode, 201, added.body);
  const { secret, id }: { secret: string; id: string } = added.json();
  const statuses = async (): Promise<string[]> => {
    const list = await app.http.inject({ url: `/v1/webhooks/${id}/deliveries`, headers: basic(pair) });
    return list.json().data.map(({ status }: { status: string }) => status);
  };
  return { app, pair, chaos: app.runtime.chaos, receiver, secret, statuses };
}

const idOf = ({ headers }: { headers: Record<string, unknown> }): string => String(headers['webhook-id']);

test('webhook_twice sends the same delivery twice and says so; those of other creators come once', async (t) => {
  const { app, pair, chaos, receiver, secret, statuses } = await setup(t);
  const real = await makePair(app.runtime, { app: pair });
  await chaos.save(pair, 'seed', { webhook_twice: 1000 });
  await app.tip(pair.creatorId);
  await app.worker.pass();
  const [first, second, ...more] = receiver.requests;
  assert.ok(first && second);
  assert.deepEqual(more, []);
  assert.deepEqual([first.headers, first.body], [second.headers, second.body]);
  assert.equal(first.headers['namjai-chaos'], 'webhook_twice');
  const event = await verifyWebhook({ secret, headers: first.headers, body: first.body, now: app.clock });
  assert.equal(event.type, 'tip.created');
  assert.deepEqual(await statuses(), ['succeeded']);
  const [fault] = await chaos.faults(pair, 10);
  assert.deepEqual([fault?.kind, fault?.n, fault?.subject.slice(0, 4)], ['webhook_twice', 1, 'dlv_']);

  await app.tip(real.creatorId);
  await app.worker.pass();
  assert.equal(receiver.requests.length, 3);
  assert.equal(receiver.requests[2]?.headers['namjai-chaos'], undefined);
});

test('webhook_late comes later, once, and says so', async (t) => {
  const { app, pair, chaos, receiver, statuses } = await setup(t);
  await chaos.save(pair, 'seed', { webhook_late: 1000 });
  await app.tip(pair.creatorId);
  await app.worker.pass();
  assert.equal(receiver.requests.length, 0);
  assert.deepEqual(await statuses(), ['pending']);
  app.clock.advance(4_900);
  await app.worker.pass();
  assert.equal(receiver.requests.length, 0, 'it waits for five seconds at least');
  app.clock.advance(25_200);
  await app.worker.pass();
  assert.equal(receiver.requests.length, 1, 'after thirty seconds it has come, and is not late again');
  assert.deepEqual(await statuses(), ['succeeded']);
  assert.equal(receiver.requests[0]?.headers['namjai-chaos'], 'webhook_late');
  assert.equal((await chaos.of(pair))?.deliveries, 1, 'it was counted once');
});

test('the same seed picks the same deliveries', async (t) => {
  const { app, pair, chaos, receiver } = await setup(t);
  const shares = { ...noShares, webhook_twice: 400 };
  await chaos.save(pair, 'picks', shares);
  const expected: string[] = [];
  for (let n = 1; n <= 12; n += 1) {
    await app.tip(pair.creatorId);
    await app.worker.pass();
    const id = idOf(receiver.requests.at(-1) ?? assert.fail('nothing has come'));
    expected.push(...(decide('picks', shares, 'delivery', n) ? [id, id] : [id]));
  }
  assert.deepEqual(receiver.requests.map(idOf), expected);
  assert.ok(expected.length > 12);
});

test('a receiver that fails once more is tried again by the schedule, and chaos counts each attempt', async (t) => {
  const { app, pair, chaos, receiver, statuses } = await setup(t);
  await chaos.save(pair, 'seed', { webhook_twice: 1000 });
  receiver.answer = (response) => response.writeHead(500).end();
  await app.tip(pair.creatorId);
  await app.worker.pass();
  assert.deepEqual([receiver.requests.length, await statuses()], [2, ['pending']]);
  receiver.answer = (response) => response.writeHead(204).end();
  await chaos.stop(pair);
  app.clock.advance(10_000);
  await app.worker.pass();
  assert.deepEqual([receiver.requests.length, await statuses()], [3, ['succeeded']]);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildEndpoints, sentKinds } from '../../../../test/endpoints.ts';
import { startReceiver } from '../../../../test/receiver.ts';
import { nextAttempt, waits } from './settle.ts';

const minute = 60_000;
const hour = 60 * minute;
const contractWaits = [5_000, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour];

for (const kind of sentKinds)
  test(`${kind}: ten attempts with the contract’s waits from the end of the last, then failed`, async (t) => {
    const { endpoints, tip, worker, clock } = await buildEndpoints(t, kind);
    const receiver = await startReceiver(t);
    receiver.answer = (response) => response.writeHead(500).end('out of order');
    const id = await endpoints.add(receiver.url);
    await tip();
    await worker.pass();
    for (const [index, wait] of contractWaits.entries()) {
      const [delivery] = await endpoints.deliveries(id);
      assert.equal(delivery!.status, 'pending');
      assert.equal(delivery!.attempts.length, index + 1);
      assert.equal(Date.parse(delivery!.next_attempt_at!), clock() + wait, `wait ${index + 1}`);
      clock.advance(wait - 1);
      await worker.pass();
      assert.equal(receiver.requests.length, index + 1, 'not a millisecond early');
      clock.advance(1);
      await worker.pass();
      assert.equal(receiver.requests.length, index + 2);
    }
    const [delivery] = await endpoints.deliveries(id);
    assert.equal(delivery!.status, 'failed');
    assert.equal(delivery!.next_attempt_at, null);
    assert.equal(delivery!.attempts.length, 10);
    const { at, duration_ms, ...last } = delivery!.attempts[9]!;
    assert.deepEqual(last, { status_code: 500, error: 'answered 500', response_body: 'out of order' });
    assert.equal(Date.parse(at), clock());
    assert.ok(duration_ms >= 0);
    clock.advance(10 * 24 * hour);
    await worker.pass();
    assert.equal(receiver.requests.length, 10);
    if (kind === 'http')
      assert.equal(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size, 1, 'one event, one id');
    else assert.equal(new Set(receiver.requests.map(({ body }) => body)).size, 1, 'the same each time');
  });

test('jitter is a fifth either way', () => {
  assert.deepEqual(waits, contractWaits);
  for (const [index, wait] of waits.entries()) {
    assert.equal(
      nextAttempt(index + 1, 0, null, () => 0),
      Math.round(wait * 0.8),
    );
    assert.equal(
      nextAttempt(index + 1, 0, null, () => 1),
      Math.round(wait * 1.2),
    );
  }
  assert.equal(
    nextAttempt(10, 0, null, () => 0.5),
    undefined,
  );
});

test('a longer Retry-After replaces the coming wait, at most 24 hours', () => {
  const after = (value: string, tries = 1) => nextAttempt(tries, 1_000_000, value, () => 0.5)! - 1_000_000;
  assert.equal(after('120'), 120_000);
  assert.equal(after('1'), 5_000, 'a shorter one does not');
  assert.equal(after('1000000'), 24 * hour);
  assert.equal(after(new Date(1_000_000 + hour).toUTCString()), hour);
  assert.equal(after('soon'), 5_000);
  assert.equal(after('-5'), 5_000);
  assert.equal(
    nextAttempt(10, 0, '60', () => 0.5),
    undefined,
    'ten attempts remain ten',
  );
});

for (const kind of sentKinds)
  test(`${kind}: Retry-After of the receiver is heeded`, async (t) => {
    const { endpoints, tip, worker, clock } = await buildEndpoints(t, kind);
    const receiver = await startReceiver(t);
    receiver.answer = (response) => response.writeHead(503, { 'retry-after': '3600' }).end();
    const id = await endpoints.add(receiver.url);
    await tip();
    await worker.pass();
    assert.equal(Date.parse((await endpoints.deliveries(id))[0]!.next_attempt_at!), clock() + hour);
  });

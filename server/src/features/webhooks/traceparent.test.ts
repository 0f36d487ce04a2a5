import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makePair } from '../../../test/factories.ts';
import { startReceiver } from '../../../test/receiver.ts';
import { buildWebhooks } from '../../../test/webhooks.ts';

const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

test('the traceparent of an app’s request goes on to the webhooks of that app, and to no other', async (t) => {
  const { http, runtime, clock, worker, pair, add } = await buildWebhooks(t);
  const [own, foreign] = [await startReceiver(t), await startReceiver(t)];
  await add(own.url);
  const other = await makePair(runtime, { creator: pair });
  await runtime.webhooks.add(other.clientId, { url: foreign.url, types: null, description: null });
  const post = async (url: string, payload: object, more: Record<string, string>) => {
    const answer = await http.inject({ method: 'POST', url, headers: { ...pair.headers, ...more }, payload });
    assert.ok(answer.statusCode < 300, answer.body);
    return answer.json();
  };
  const { id } = await post('/v1/tips', { amount: 1, name: 'NAME A' }, { traceparent });
  await post('/v1/tips', { amount: 1, name: 'NAME B' }, { traceparent, 'idempotency-key': 'once' });
  await post('/v1/alerts', {}, { traceparent });
  await post(`/v1/tips/${id}/void`, {}, { traceparent });
  await post('/v1/tips', { amount: 1, name: 'NAME C' }, {});
  await post('/v1/tips', { amount: 1, name: 'NAME D' }, { traceparent: 'malformed' });

  const types = ['tip.created', 'tip.created', 'alert.test', 'alert.skipped', 'tip.voided'];
  const untraced = ['tip.created undefined', 'tip.created undefined'];
  const sent = ({ requests }: typeof own) =>
    requests.splice(0).map(({ headers, body }) => `${JSON.parse(body).type} ${headers.traceparent}`);
  // The first attempt has the events as they were read for all endpoints, the second reads them again.
  own.answer = (response) => response.writeHead(500).end();
  for (const attempt of ['first', 'second']) {
    await worker.pass();
    assert.deepEqual(
      sent(own).sort(),
      [...types.map((type) => `${type} ${traceparent}`), ...untraced].sort(),
      `the ${attempt} attempt`,
    );
    clock.advance(60_000);
  }
  assert.deepEqual(sent(foreign).sort(), [...types.map((type) => `${type} undefined`), ...untraced].sort());
});

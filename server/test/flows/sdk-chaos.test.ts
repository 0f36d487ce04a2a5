/** An app that follows the SDK's README, and nothing more, in a bad evening. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, type TestContext, test } from 'node:test';
import { createOAuth, memoryStore } from '@namjai/sdk/oauth';
import { startNamjai, type TestChaos, type TestNamjai } from '@namjai/sdk/testing';
import { createWebhookHandler } from '@namjai/sdk/webhooks';
import { rounds } from '../../../sdk/test/rounds.ts';
import { until } from '../../../sdk/test/until.ts';
import { basic } from '../factories.ts';

const tips = rounds(40);

let namjai: TestNamjai;
before(async () => {
  namjai = await startNamjai();
});
after(() => namjai.close());

let movedMs = 0;
/** Moves the server's clock. */
async function pass(ms: number): Promise<void> {
  movedMs += ms;
  await namjai.advance(ms);
}

/** The app: it records payments, follows events and receives webhooks, each as the README shows it. */
async function startApp(t: TestContext, chaos: TestChaos, retries?: number) {
  const { clientId, clientSecret } = chaos.app;
  const received = { events: [] as number[], webhooks: [] as string[] };
  const oauth = createOAuth({
    baseUrl: namjai.baseUrl,
    clientId,
    clientSecret,
    scope: chaos.scope,
    store: memoryStore(),
    encryptionKey: 'a key of thirty-two bytes or more',
    ...(retries === undefined ? {} : { retries }),
  });
  const { creatorId } = await oauth.adopt(chaos);
  const client = oauth.as(creatorId);

  const connection = client.events.connect({
    after: 0,
    onEvent: ({ type, sequence }) => {
      if (type === 'tip.created') received.events.push(sequence);
    },
  });
  t.after(() => connection.close());

  let secret = '';
  const receiver = createServer((request, response) => void handler.node(request, response)).listen(0, '127.0.0.1');
  t.after(() => receiver.close().closeAllConnections());
  await once(receiver, 'listening');
  const { port } = receiver.address() as AddressInfo;
  const added = await fetch(`${namjai.baseUrl}/v1/webhooks`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...basic({ clientId, clientSecret }) },
    body: JSON.stringify({ url: `http://127.0.0.1:${port}/` }),
  });
  ({ secret } = await added.json());
  const handler = createWebhookHandler({
    secret,
    on: { 'tip.created': ({ data }) => void received.webhooks.push(data.tip.id) },
    now: () => Date.now() + movedMs,
  });

  return {
    client,
    received,
    async pay(id: number): Promise<void> {
      // Ten calls a minute are let through, and some are repeated: for the server a minute passes after every five tips.
      if (id % 5 === 0) await pass(60_000);
      await client.tips.create({ amount: id, name: `PAYMENT ${id}` }, { idempotencyKey: `payment-${id}` });
    },
  };
}

test(`an app that follows the README loses nothing of ${tips} tips and records nothing twice`, async (t) => {
  const chaos = await namjai.chaos({ run: 'bad_evening', seed: 'evening-1' });
  const app = await startApp(t, chaos);
  for (let id = 1; id <= tips; id += 1) await app.pay(id);

  await until('all events have come', () => app.received.events.length >= tips);
  await until('all webhooks have come', async () => {
    if (app.received.webhooks.length < tips) await pass(1_000);
    return app.received.webhooks.length >= tips;
  });
  const report = await namjai.report();
  t.diagnostic(JSON.stringify(report));
  assert.deepEqual([report.lost, report.doubled, report.unconfirmed], [[], [], []]);
  assert.equal(report.tipCalls.repeated, report.tipCalls.refused);
  assert.ok(report.passed);
  assert.ok(report.tipCalls.refused > 0 && report.faults.upstream_failed > 0, 'there was something to survive');

  const { all_time } = await app.client.tips.stats();
  assert.equal(all_time.count, tips);
  assert.equal(all_time.total, (tips * (tips + 1)) / 2);
  assert.equal(app.received.events.length, tips);
  assert.deepEqual(
    app.received.events,
    app.received.events.toSorted((a, b) => a - b),
    'each event came once, in order',
  );
  assert.equal(new Set(app.received.webhooks).size, tips, 'no webhook was handled twice');
  assert.equal(app.received.webhooks.length, tips);
});

test('the same app with its retries switched off fails the report', async (t) => {
  const chaos = await namjai.chaos({ run: 'bad_evening', seed: 'evening-1' });
  const app = await startApp(t, chaos, 0);
  let failed = 0;
  for (let id = 1; id <= 40; id += 1) await app.pay(id).catch(() => (failed += 1));
  const report = await namjai.report();
  assert.equal(report.passed, false);
  assert.ok(failed > 0);
  assert.equal(report.lost.length + report.unconfirmed.length, failed);
  assert.ok(report.lost.length > 0 && report.unconfirmed.length > 0);
});

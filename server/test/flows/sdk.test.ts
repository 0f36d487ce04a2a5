import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { createClient, NamjaiError } from '@namjai/sdk';
import { events } from '@namjai/sdk/events';
import { verifyWebhook } from '@namjai/sdk/webhooks';
import { until } from '../../../sdk/test/until.ts';
import { basic } from '../factories.ts';
import { startReceiver } from '../receiver.ts';
import { startServer } from '../server-process.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

test('the SDK does with the real program what its README says: calls, pages, events and webhooks', async (t) => {
  const database = `sqlite:${join(temporaryDirectory(t), 'data', 'namjai.db')}`;
  const server = await startServer({ env: { DATABASE_URL: database, WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' } });
  t.after(() => server.kill());
  await until('it says that it is up', () => server.output().includes('is up.'));
  const printed = (pattern: RegExp): string => pattern.exec(server.output())?.[1] ?? assert.fail(server.output());
  const accessToken = printed(/Bearer (\S+)"/);
  const app = { clientId: printed(/client_id (\S+)/), clientSecret: printed(/client_secret (\S+)/) };

  let refusals = 0;
  const namjai = createClient({
    baseUrl: server.url,
    accessToken: async (refused) => {
      if (refused === undefined) return 'stale';
      refusals += 1;
      return accessToken;
    },
  });
  assert.equal((await namjai.me()).username, 'demo');
  assert.equal(refusals, 1, 'asked again after the 401');
  assert.equal((await namjai.profile()).tip_channels.length, 6);

  const { promise: live, resolve: isLive } = Promise.withResolvers<void>();
  const { promise: heard, resolve: hear } = Promise.withResolvers<void>();
  const types: string[] = [];
  const connection = namjai.events.connect({
    onEvent: ({ type }) => {
      types.push(type);
      if (types.length === 2) hear();
    },
    onStatus: (status) => status === 'live' && isLive(),
  });
  t.after(() => connection.close());
  await live;
  const before = { position: connection.position ?? 0, count: (await namjai.tips.stats()).all_time.count };

  const receiver = await startReceiver(t);
  const webhook = await fetch(`${server.url}/v1/webhooks`, {
    method: 'POST',
    headers: { ...basic(app), 'content-type': 'application/json' },
    body: JSON.stringify({ url: receiver.url }),
  });
  const { secret } = await webhook.json();

  const tip = await namjai.tips.create({ amount: 150.5, name: 'SOMCHAI' }, { idempotencyKey: 'payment-1' });
  const again = await namjai.tips.create({ amount: 150.5, name: 'SOMCHAI' }, { idempotencyKey: 'payment-1' });
  assert.equal(again.id, tip.id);
  assert.equal((await namjai.tips.get(tip.id)).amount, 150.5);
  await namjai.alerts.send({ message: 'Hello' });
  await heard;
  assert.deepEqual(types, ['tip.created', 'alert.test']);

  await receiver.waitFor(2);
  const delivered = await Promise.all(
    receiver.requests.map(({ headers, body }) => verifyWebhook({ secret, headers, body })),
  );
  assert.deepEqual(new Set(delivered.map(({ type }) => type)), new Set(['tip.created', 'alert.test']));
  assert.equal(connection.position, before.position + 2, 'behind the demo world');

  const amounts: number[] = [];
  for await (const { amount } of namjai.tips.list({ limit: 50 })) amounts.push(amount);
  assert.equal(amounts[0], 150.5);
  assert.ok(amounts.length > 50, 'over several pages');
  assert.equal((await namjai.tips.stats()).all_time.count, before.count + 1);
  await assert.rejects(
    namjai.tips.create({ amount: -1, name: 'SOMCHAI' }),
    (error) => error instanceof NamjaiError && error.status === 422 && error.details?.[0]?.field === 'amount',
  );

  const { url } = await namjai.socketToken();
  const token = async () => (await namjai.socketToken()).socket_token;
  const sequences: (number | null)[] = [];
  for await (const { sequence } of events({ url, token, after: 4 })) if (sequences.push(sequence) === 3) break;
  assert.deepEqual(sequences, [5, 6, 7]);
});

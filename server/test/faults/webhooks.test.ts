import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { rounds } from '../../../sdk/test/rounds.ts';
import { until } from '../../../sdk/test/until.ts';
import { basic, makePair } from '../factories.ts';
import { startKofi } from '../kofi-receiver.ts';
import { startReceiver } from '../receiver.ts';
import { freePort, startServer } from '../server-process.ts';
import { sameIssuer, withStore } from '../store.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

const kills = rounds(5);

test(`kill -9 amid deliveries, ${kills} times: every event arrives at each receiver at least once, signed, and each tip at a connection`, {
  timeout: 1_200_000 + kills * 30_000,
}, async (t) => {
  const env = {
    ...sameIssuer,
    DATABASE_URL: `sqlite:${join(temporaryDirectory(t), 'namjai.db')}`,
    WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
  };
  const port = await freePort();
  const kofi = await startKofi(t, 'our-own-word');
  const [pair, ...more] = await withStore(env, async (runtime) => {
    const first = await makePair(runtime);
    await runtime.connections.add(first.creatorId, { kind: 'kofi', url: kofi.url, verificationToken: 'our-own-word' });
    return [first, ...(await Promise.all(Array.from({ length: 19 }, () => makePair(runtime, { app: first }))))];
  });
  let server = await startServer({ env, port });
  t.after(() => server.kill());
  const receivers = [await startReceiver(t), await startReceiver(t)];
  const refused: unknown[] = [];
  for (const receiver of receivers) {
    let secret = '';
    receiver.answer = (response, { body, headers }) => {
      // On arrival, as a receiver does: an old signature is refused.
      try {
        new Webhook(secret).verify(body, headers as Record<string, string>);
      } catch (error) {
        refused.push(error);
      }
      // Now and then an answer comes late, so that a kill finds deliveries under way.
      setTimeout(() => response.writeHead(204).end(), receiver.requests.length % 10 === 0 ? 100 : 0);
    };
    const made = await fetch(`${server.url}/v1/webhooks`, {
      method: 'POST',
      headers: { ...basic(pair!), 'content-type': 'application/json' },
      body: JSON.stringify({ url: receiver.url }),
    });
    assert.equal(made.status, 201);
    ({ secret } = (await made.json()) as { secret: string });
  }

  const answered = new Set<string>();
  /** Of the creator who has a connection. */
  const connected = new Set<string>();
  for (let round = 0; round < kills; round++) {
    const { url } = server;
    const load = [pair!, ...more].map(async ({ headers }, i) => {
      for (let n = 0; n < 3; n++) {
        const body = JSON.stringify({ amount: 1 + i, name: 'CRASH' });
        const response = await fetch(`${url}/v1/tips`, {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json' },
          body,
        }).catch(() => undefined);
        const tip = response?.status === 201 ? await response.json().catch(() => undefined) : undefined;
        if (tip) answered.add((tip as { id: string }).id);
        if (tip && i === 0) connected.add((tip as { id: string }).id);
      }
    });
    const enough = answered.size + 8 + 8 * (round % 5);
    await until(`${enough} tips are answered`, () => answered.size >= enough);
    await server.kill('SIGKILL');
    await Promise.all(load);
    server = await startServer({ env, port });
  }

  const missing = () => {
    const kofiIds = new Set([...kofi.payments.values()].map(({ kofi_transaction_id }) => kofi_transaction_id));
    const perReceiver = receivers.map(({ requests }) => {
      const seen = new Set(requests.map(({ body }) => JSON.parse(body).data.tip.id));
      return [...answered].filter((id) => !seen.has(id)).length;
    });
    return [...perReceiver, [...connected].filter((id) => !kofiIds.has(id)).length];
  };
  await until(
    () => `every tip has arrived; missing are ${missing()}`,
    () => missing().every((count) => count === 0),
  );
  assert.ok(answered.size >= 8 * kills, `only ${answered.size} tips were recorded`);
  assert.deepEqual(kofi.refused, []);
  assert.ok(connected.size > 0, 'the connection had something to tell');
  const sent = receivers.reduce((count, { requests }) => count + requests.length, 0);
  t.diagnostic(`${answered.size} tips, ${sent} requests to two receivers`);

  const statuses = () =>
    withStore(env, ({ db }) =>
      db.all<{ status: string; n: number }>('SELECT status, COUNT(*) AS n FROM webhook_deliveries GROUP BY status'),
    );
  // What a receiver had before a kill that kept it from being settled goes out once more, after its lease.
  const settled = async () => (await statuses()).every(({ status }) => status !== 'pending');
  await until('no delivery is pending', settled);
  await server.kill('SIGTERM');
  const left = await statuses();
  assert.deepEqual(
    left.map(({ status }) => status),
    ['succeeded'],
    'each is settled',
  );
  assert.deepEqual(refused, [], 'each request was signed');
});

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { rounds } from '../../../sdk/test/rounds.ts';
import { seed, seeded } from '../../../sdk/test/seeded.ts';
import { until } from '../../../sdk/test/until.ts';
import { startChaosReceiver } from '../chaos-receivers.ts';
import { freePort, startServer } from '../server-process.ts';
import { range } from '../sockets.ts';
import { execute } from '../sql.ts';
import { makePairs, sameIssuer, withStore } from '../store.ts';
import { subscribe } from '../subscribers.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { postTips } from '../tip-load.ts';

const subscribers = 200;
const hooks = 5;
const kills = rounds(4);
const tips = Math.min(kills * 500, 5_000);

test(`${subscribers} sockets and ${hooks} receivers cut, stalled and killed, the server killed ${kills} times, ${tips} tips: every event, in order, once (TEST_SEED=${seed})`, {
  timeout: 1_200_000 + kills * 30_000,
}, async (t) => {
  const random = seeded(seed);
  const env = {
    ...sameIssuer,
    DATABASE_URL: `sqlite:${join(temporaryDirectory(t), 'namjai.db')}`,
    WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
  };
  // Ten tips a minute for each app, and counts begin anew with the process: enough apps for the last stretch.
  const pairs = await withStore(env, (runtime) => makePairs(runtime, 1, 400));
  const creatorId = pairs[0]!.creatorId;
  const recorded = () => withStore(env, async ({ events }) => (await events.head(creatorId))?.sequence ?? 0);
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  let server = await startServer({ env, port });
  t.after(() => server.kill());

  const clients = pairs.slice(0, subscribers).map((pair) => subscribe(() => origin, pair));
  t.after(() => {
    for (const client of clients) client.close();
  });
  const receivers = await Promise.all(
    Array.from({ length: hooks }, () => startChaosReceiver(t, origin, pairs[0]!, random)),
  );
  const faults = { cut: 0, stall: 0, restart: 0 };
  const disturb = setInterval(() => {
    const client = clients[Math.floor(random() * clients.length)]!;
    const kind = (['cut', 'stall', 'restart'] as const)[Math.floor(random() * 3)]!;
    faults[kind] += 1;
    client[kind](200 + random() * 2000);
  }, 20);
  t.after(() => clearInterval(disturb));

  for (let life = 0; life < kills; life += 1) {
    await until('most are back', () => clients.filter((client) => client.live()).length > subscribers / 2);
    for (let burst = 0; burst < 2; burst += 1) {
      await postTips(origin, pairs, { count: 150, connections: 8 });
      await sleep(random() * 300);
    }
    const load = postTips(origin, pairs, { count: 2000, connections: 16 });
    await sleep(20 + random() * 100);
    await server.kill('SIGKILL');
    await load;
    server = await startServer({ env, port });
  }
  await until(
    `${tips} tips are recorded`,
    async () => {
      const left = tips - (await recorded());
      if (left > 0) await postTips(origin, pairs, { count: left, connections: 8 });
      return left <= 0;
    },
    240_000,
  );
  clearInterval(disturb);

  const total = await recorded();
  const behind = () => clients.filter(({ sequences }) => (sequences.at(-1) ?? 0) < total).length;
  await until('everyone has everything', () => behind() === 0);
  const expected = range(1, total);
  for (const { sequences, ids, resets } of clients) {
    assert.deepEqual(sequences, expected);
    assert.equal(ids.size, total);
    assert.equal(resets, 0);
  }

  for (const receiver of receivers) receiver.calm();
  const ids = clients[0]!.ids;
  const missing = () => receivers.map(({ accepted }) => [...ids].filter((id) => !accepted.has(id)).length);
  // An app may retry ten a minute, so that the test does not wait for their schedule otherwise.
  const makeDue = `UPDATE webhook_deliveries SET due_at = $1 WHERE status = 'pending' AND lease IS NULL AND tries > 0`;
  let retried = 0;
  await until(
    () => `every webhook is accepted; missing are ${missing()}`,
    async () => {
      retried += await withStore(env, ({ db }) => execute(db, makeDue, [Date.now()]));
      return missing().every((count) => count === 0);
    },
  );
  assert.ok(receivers.every(({ refused }) => refused.cut > 0 && refused.stall > 0));

  const connections = clients.reduce((sum, client) => sum + client.connections, 0);
  assert.ok(connections > subscribers * kills * 0.5, 'the connections were really broken');
  t.diagnostic(`${total} events to each of ${subscribers}; ${connections} connections; ${JSON.stringify(faults)}`);
  t.diagnostic(`receivers refused ${JSON.stringify(receivers.map(({ refused }) => refused))}; ${retried} made due`);
});

import type { ChildProcess } from 'node:child_process';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { makePairs, withStore } from '../../server/test/store.ts';
import { at } from '../lib/at.ts';
import type { Bench } from '../lib/bench.ts';
import { compareRates } from '../lib/compare.ts';
import { newStore, type StoreEnv, startNamjai, startPeer } from '../lib/namjai.ts';
import { atLeast, type Row } from '../lib/row.ts';

/** The concurrent requests of our server to one fast receiver. */
const width = 16;

export const webhooks: Row = {
  name: 'webhooks',
  title: 'Webhook deliveries, durable',
  what: 'webhook deliveries to a local receiver, signed and settled durably',
  measuredAs: 'deliveries/s ÷ bare undici posting the same bodies',
  goal: atLeast(0.5),
  cheap: true,
  lasts: { setup: 10, round: 6 },
  async measure(bench) {
    const count = bench.short ? 100 : 20_000;
    const { origin, receiver } = await startReceiver(bench);
    const ours = await startDeliveries(bench, { origin, endpoints: 1 });
    const peer = bench.start(new URL('../peers/undici.js', import.meta.url));
    const headers = {
      'content-type': 'application/json; charset=utf-8',
      'webhook-id': 'evt_01kaxk2t5v7f9sd3n8q6w4y0zr',
      'webhook-timestamp': '1763179200',
      'webhook-signature': `v1,${Buffer.alloc(32).toString('base64')}`,
    };
    const post = { origin, count, connections: width, headers, body: await ours.sampleBody() };
    return compareRates(
      bench,
      {
        ours: { label: 'Namjai', child: ours.child, generator: receiver, run: () => ours.deliver(count) },
        reference: { label: 'bare undici', child: peer, generator: receiver, run: () => peer.call('run', post) },
      },
      { unit: 'deliveries/s' },
    );
  },
};

export async function startReceiver(bench: Bench) {
  const { child, port } = await startPeer(bench, 'receiver');
  return { receiver: child, origin: `http://127.0.0.1:${port}` };
}

/** A server with this many endpoints, each of a different app, for one creator; and a function that sends them events. */
export async function startDeliveries(bench: Bench, { origin, endpoints }: { origin: string; endpoints: number }) {
  bench.progress('making apps and endpoints');
  const env: StoreEnv = { ...newStore(bench), WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' };
  const { creatorId } = await withStore(env, async (runtime) => {
    const pairs = await makePairs(runtime, 1, endpoints);
    for (const { clientId } of pairs)
      await runtime.webhooks.add(clientId, { url: `${origin}/hook`, types: null, description: null });
    return at(pairs, 0);
  });
  const record = (count: number) =>
    withStore(env, ({ tips }) => Promise.all(Array.from({ length: count }, () => tips.record({ creatorId, ...tip }))));
  const { child } = await startNamjai(bench, env);
  const watch = watchDeliveries(env.DATABASE_URL.slice('sqlite:'.length));
  bench.after(watch.close);

  return {
    child,
    /** Records tips while the server is held, which then finds them; the clock runs from the first delivery made until all are settled. */
    async deliver(deliveries: number) {
      await watch.untilSettled();
      const before = watch.state();
      await hold(child.process, watch.isFree);
      await record(deliveries / endpoints);
      child.process.kill('SIGCONT');
      await watch.untilSettled();
      const end = Date.now();
      const { settled, firstMade } = watch.state(before.last);
      if (settled !== deliveries) throw new Error(`${settled} deliveries were settled in place of ${deliveries}`);
      const seconds = (end - firstMade) / 1000;
      return { requests: deliveries, seconds };
    },
    async sampleBody(): Promise<string> {
      await record(1);
      return withStore(env, async ({ events }) => at(await events.after(creatorId, 0, 1), 0).body);
    },
  };
}

/** Reads the database from outside. The polled queries are cheap. */
function watchDeliveries(file: string) {
  const db = new DatabaseSync(file);
  const state = db.prepare(
    `SELECT count(*) AS n, max(rowid) AS last, min(created_at) AS first FROM webhook_deliveries
     WHERE rowid > ? AND status = 'succeeded'`,
  );
  const left = db.prepare(
    `SELECT EXISTS (SELECT 1 FROM webhook_deliveries WHERE status = 'pending') OR EXISTS (
       SELECT 1 FROM creator_heads h LEFT JOIN webhook_positions p ON p.creator_id = h.creator_id
       WHERE h.sequence > COALESCE(p.sequence, 0)) AS n`,
  );
  return {
    /** Of the deliveries that came after this one. */
    state(after = 0) {
      const found = state.get(after);
      return { settled: Number(found?.n), last: Number(found?.last), firstMade: Number(found?.first) };
    },
    /** Every event has become deliveries, and every delivery is settled. */
    async untilSettled(): Promise<void> {
      while (left.get()?.n !== 0) await delay(2);
    },
    /** No process holds the write lock. */
    isFree(): boolean {
      try {
        db.exec('BEGIN IMMEDIATE; ROLLBACK');
        return true;
      } catch {
        return false;
      }
    },
    close: () => db.close(),
  };
}

/** Suspends the server, but not while it holds the write lock. */
async function hold(server: ChildProcess, isFree: () => boolean): Promise<void> {
  for (;;) {
    server.kill('SIGSTOP');
    await delay(5);
    if (isFree()) return;
    server.kill('SIGCONT');
    await delay(5);
  }
}

const tip = { app: null, amount: 150.5, name: 'SOMCHAI', displayName: 'สมชาย', message: 'Great stream!' };

import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { makePairs, withStore } from '../../server/test/store.ts';
import type { Bench } from '../lib/bench.ts';
import { compareRates } from '../lib/compare.ts';
import { newStore, type StoreEnv, startNamjai, startPeer } from '../lib/namjai.ts';
import { atLeast, type Row } from '../lib/row.ts';

/** How many requests ours keeps under way to one receiver that answers quickly. */
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
    const count = bench.short ? 100 : 4_000;
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

/** A server with so many endpoints, each of an app of its own, for one creator; and a way to have them sent events. */
export async function startDeliveries(bench: Bench, { origin, endpoints }: { origin: string; endpoints: number }) {
  bench.progress('making apps and endpoints');
  const env: StoreEnv = { ...newStore(bench), WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' };
  const { creatorId } = await withStore(env, async (runtime) => {
    const pairs = await makePairs(runtime, 1, endpoints);
    for (const { clientId } of pairs)
      await runtime.webhooks.add(clientId, { url: `${origin}/hook`, types: null, description: null });
    return pairs[0]!;
  });
  const record = (count: number) =>
    withStore(env, ({ tips }) => Promise.all(Array.from({ length: count }, () => tips.record({ creatorId, ...tip }))));
  const { child } = await startNamjai(bench, env);
  const watch = new DatabaseSync(env.DATABASE_URL!.slice('sqlite:'.length), { readOnly: true });
  bench.after(() => watch.close());
  const settled = watch.prepare(`SELECT count(*) AS n FROM webhook_deliveries WHERE status = 'succeeded'`);
  const done = (): number => Number(settled.get()?.n);

  return {
    child,
    /** Records tips beside the server, which then finds them; the clock runs from the first that is settled. */
    async deliver(deliveries: number) {
      const before = done();
      await record(deliveries / endpoints);
      while (done() === before) await delay(2);
      const [start, first] = [performance.now(), done()];
      while (done() < before + deliveries) await delay(5);
      // On a busy machine a small number can be settled between two looks.
      const requests = Math.max(1, before + deliveries - first);
      return { requests, seconds: (performance.now() - start) / 1000 };
    },
    async sampleBody(): Promise<string> {
      await record(1);
      return withStore(env, async ({ events }) => (await events.after(creatorId, 0, 1))[0]!.body);
    },
  };
}

const tip = { app: null, amount: 150.5, name: 'SOMCHAI', displayName: 'สมชาย', message: 'Great stream!' };

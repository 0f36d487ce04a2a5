import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { makePair } from '../../server/test/factories.ts';
import { withStore } from '../../server/test/store.ts';
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
    const env: StoreEnv = { ...newStore(bench), WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' };
    const receiver = await startPeer(bench, 'receiver');
    const origin = `http://127.0.0.1:${receiver.port}`;
    const pair = await withStore(env, async (runtime) => {
      const made = await makePair(runtime);
      await runtime.webhooks.add(made.clientId, { url: `${origin}/hook`, types: null, description: null });
      return made;
    });
    const ours = await startNamjai(bench, env);
    const file = env.DATABASE_URL!.slice('sqlite:'.length);
    const watch = new DatabaseSync(file, { readOnly: true });
    bench.after(() => watch.close());
    const settled = watch.prepare(`SELECT count(*) AS n FROM webhook_deliveries WHERE status = 'succeeded'`);
    const done = (): number => Number(settled.get()?.n);

    /** Records tips beside the server, which then finds them; the clock runs from the first that is settled. */
    async function deliver() {
      const before = done();
      await withStore(env, ({ tips }) =>
        Promise.all(
          Array.from({ length: count }, () =>
            tips.record({
              creatorId: pair.creatorId,
              app: { id: pair.clientId, name: 'App' },
              amount: 150.5,
              name: 'SOMCHAI',
              displayName: 'สมชาย',
              message: 'Great stream!',
            }),
          ),
        ),
      );
      while (done() === before) await delay(2);
      const [start, first] = [performance.now(), done()];
      while (done() < before + count) await delay(5);
      return { requests: before + count - first, seconds: (performance.now() - start) / 1000 };
    }

    const body = await withStore(env, async ({ events, tips }) => {
      const { creatorId } = pair;
      await tips.record({ creatorId, app: null, amount: 1, name: 'SOMCHAI', displayName: 'สมชาย', message: null });
      return (await events.after(creatorId, 0, 1))[0]!.body;
    });
    const peer = bench.start(new URL('../peers/undici.js', import.meta.url));
    const headers = {
      'content-type': 'application/json; charset=utf-8',
      'webhook-id': 'evt_01kaxk2t5v7f9sd3n8q6w4y0zr',
      'webhook-timestamp': '1763179200',
      'webhook-signature': `v1,${Buffer.alloc(32).toString('base64')}`,
    };
    return compareRates(
      bench,
      {
        ours: { label: 'Namjai', child: ours.child, generator: receiver.child, run: deliver },
        reference: {
          label: 'bare undici',
          child: peer,
          generator: receiver.child,
          run: () => peer.call('run', { origin, count, connections: width, headers, body }),
        },
      },
      { unit: 'deliveries/s' },
    );
  },
};

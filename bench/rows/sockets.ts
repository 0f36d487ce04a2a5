import type { Pair } from '../../server/test/factories.ts';
import { withStore } from '../../server/test/store.ts';
import { at } from '../lib/at.ts';
import type { Memory } from '../lib/child.ts';
import { compareValues } from '../lib/compare.ts';
import { fanOut, pairsOf, socketPaths, socketsPerApp, startListeners, tip } from '../lib/fan-out.ts';
import { type StoreEnv, startNamjai, startPeer } from '../lib/namjai.ts';
import { atLeast, atMost, type Row } from '../lib/row.ts';

export const broadcast: Row = {
  name: 'broadcast',
  title: 'One event to 1,000 sockets',
  what: 'one event to 1,000 sockets (20 apps of 50)',
  measuredAs: 'delivered messages/s ÷ Socket.IO’s broadcast to as many, no other server running',
  goal: atLeast(2),
  cheap: true,
  lasts: { setup: 5, round: 12 },
  async measure(bench) {
    const apps = bench.short ? 2 : 20;
    // Each round restarts our server, and so resets its limiter.
    const { env, pairs } = await pairsOf(bench, 1, bench.short ? 2 : 40);
    const tokens = pairs.map(({ accessToken }) => accessToken);
    const event = await sampleEvent(env, at(pairs, 0));

    async function ours() {
      const { child, port } = await startNamjai(bench, env);
      const paths = await socketPaths(port, pairs.slice(0, apps));
      const trigger = { path: '/v1/tips', status: 201, tokens, body: tip };
      const { rate, busy } = await fanOut(bench, child, { port, kind: 'namjai', paths, trigger });
      return { value: rate, busy };
    }

    async function socketIo() {
      const { child, port } = await startPeer(bench, 'socket-io', { EVENT: event });
      const paths = Array<string>(apps * socketsPerApp).fill('/socket.io/?EIO=4&transport=websocket');
      const trigger = { path: '/emit', status: 200, tokens: [''], body: tip };
      const { rate, busy } = await fanOut(bench, child, { port, kind: 'socket.io', paths, trigger });
      return { value: rate, busy };
    }

    const sides = { ours: { label: 'Namjai', take: ours }, reference: { label: 'Socket.IO', take: socketIo } };
    return compareValues(bench, sides, 'messages/s');
  },
};

export const socketMemory: Row = {
  name: 'socket-memory',
  title: 'Memory per idle socket',
  what: 'memory per idle socket',
  measuredAs: '÷ a bare ws server’s',
  goal: atMost(1.5),
  lasts: { setup: 5, round: 8 },
  async measure(bench) {
    const apps = bench.short ? 2 : 40;
    const count = apps * socketsPerApp;
    const { env, pairs } = await pairsOf(bench, 1, apps);

    async function grown(
      server: { child: { memory(): Promise<Memory>; stop(): Promise<void> }; port: number },
      kind: string,
      paths: string[],
    ) {
      const worker = startListeners(bench);
      // The first sockets bring in code and pools that every later one shares.
      await worker.call('open', { port: server.port, paths: paths.slice(0, socketsPerApp), kind });
      const before = await server.child.memory();
      await worker.call('open', { port: server.port, paths: paths.slice(socketsPerApp), kind });
      const after = await server.child.memory();
      await worker.stop();
      await server.child.stop();
      return { value: (after.kept - before.kept) / (paths.length - socketsPerApp) };
    }

    return compareValues(
      bench,
      {
        ours: {
          label: 'Namjai',
          async take() {
            const server = await startNamjai(bench, env);
            return grown(server, 'namjai', await socketPaths(server.port, pairs));
          },
        },
        reference: {
          label: 'bare ws',
          take: async () => grown(await startPeer(bench, 'bare-ws'), 'ws', Array<string>(count).fill('/')),
        },
      },
      'bytes',
    );
  },
};

export const latency: Row = {
  name: 'latency',
  title: 'Tip answered → frame, p99',
  what: 'POST /v1/tips answered → frame at a socket, 200 tips/s',
  measuredAs: 'p99',
  goal: atMost(20, ' ms'),
  cheap: true,
  lasts: { setup: 15, round: 6 },
  async measure(bench) {
    const creators = 20;
    const { env, pairs } = await pairsOf(bench, creators, bench.short ? 2 : 80);
    const { port } = await startNamjai(bench, env);
    const firsts = pairs.filter(({ creatorId }, i) => pairs.findIndex((pair) => pair.creatorId === creatorId) === i);
    const worker = startListeners(bench);
    await worker.call('open', { port, paths: await socketPaths(port, firsts, 1), kind: 'namjai' });
    const tokens = pairs.map(({ accessToken }) => accessToken);
    const trigger = { port, path: '/v1/tips', status: 201, tokens, body: tip };
    const pace = (seconds: number) =>
      worker.call<{ p50: number; p99: number; most: number }>('pace', { trigger, perSecond: 200, seconds });
    bench.progress('warming up');
    // Every token once, so that none is verified while it counts.
    await pace(bench.short ? 0.2 : Math.ceil(tokens.length / 200));
    const taken = [];
    for (let round = 0; round < bench.rounds; round++) {
      bench.progress(`round ${round + 1} of ${bench.rounds}`);
      taken.push(await pace(bench.short ? 0.5 : 5));
    }
    return {
      values: taken.map(({ p99 }) => p99),
      parts: [
        { label: 'median', unit: 'ms', values: taken.map(({ p50 }) => p50) },
        { label: 'longest', unit: 'ms', values: taken.map(({ most }) => most) },
      ],
    };
  },
};

/** An event as ours sends it, for the peer to send the same. */
async function sampleEvent(env: StoreEnv, { creatorId, clientId }: Pair): Promise<string> {
  return withStore(env, async ({ tips, events }) => {
    const { amount, name, display_name: displayName, message } = tip;
    await tips.record({ creatorId, app: { id: clientId, name: 'App' }, amount, name, displayName, message });
    return at(await events.after(creatorId, 0, 1), 0).body;
  });
}

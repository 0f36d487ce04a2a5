import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { WebSocket } from 'ws';
import { until } from '../../../sdk/test/until.ts';
import { connectRedis } from '../../src/platform/redis.ts';
import { makePair, type Pair } from '../factories.ts';
import { prepareNodes } from '../nodes.ts';
import { skipWithoutRedisServer } from '../redis.ts';
import { range } from '../sockets.ts';
import { makePairs, withStore } from '../store.ts';

/** A connection once it is decided: `live`, or the close code or status it was refused with. */
interface Line {
  readonly outcome: 'live' | number;
  /** Whether the server has not ended it. */
  open(): boolean;
  close(): void;
  /** Resolves when the server asks it to move, or ends it. */
  readonly moved: Promise<void>;
}

async function openSocket(t: TestContext, address: string, token?: string): Promise<Line> {
  const webSocket = new WebSocket(address);
  t.after(() => webSocket.terminate());
  webSocket.on('error', () => {}); // a close follows
  if (token) webSocket.on('open', () => webSocket.send(JSON.stringify({ type: 'auth', token })));
  const moved = new Promise<void>((resolve) => {
    webSocket.on('close', resolve);
    webSocket.on('message', (data) => {
      const frame = JSON.parse(String(data));
      if (frame.type === 'reconnect') setTimeout(resolve, frame.after_ms);
    });
  });
  const [first] = await Promise.race([once(webSocket, 'message'), once(webSocket, 'close')]);
  return {
    outcome: typeof first === 'number' ? first : 'live',
    open: () => webSocket.readyState === WebSocket.OPEN,
    close: () => webSocket.close(),
    moved,
  };
}

async function openStream(t: TestContext, url: string, { headers }: Pair): Promise<Line> {
  const { abort, signal } = makeAbort(t);
  const response = await fetch(`${url}/v1/events/stream`, { headers, signal });
  let ended = false;
  if (response.status === 429) assert.match(String(response.headers.get('retry-after')), /^[1-9]\d*$/);
  const moved = response.text().then(
    () => {
      ended = true;
    },
    () => {}, // closed by us
  );
  return { outcome: response.status === 200 ? 'live' : response.status, open: () => !ended, close: abort, moved };
}

function makeAbort(t: TestContext) {
  const controller = new AbortController();
  const abort = () => controller.abort();
  t.after(abort);
  return { abort, signal: controller.signal };
}

const count = (lines: readonly Line[], outcome: Line['outcome']) =>
  lines.filter((line) => line.outcome === outcome).length;
const live = (lines: readonly Line[]) => lines.filter((line) => line.outcome === 'live');

test('connection slots over two nodes are as many as in one process', {
  skip: skipWithoutRedisServer,
}, async (t) => {
  const nodes = await prepareNodes(t, 2);
  const { pairs, creatorId, overlayKey } = await withStore(nodes.env, async (runtime) => {
    const pairs = await makePairs(runtime, 1, 6);
    const { creatorId } = await makePair(runtime);
    return { pairs, creatorId, overlayKey: await runtime.overlays.key(creatorId) };
  });
  await Promise.all([0, 1].map(nodes.start));
  const redis = await connectRedis({ url: nodes.redis.url });
  t.after(() => redis.close());
  const [here, there] = nodes.urls as [string, string];

  async function appOf(t: TestContext, pair: Pair) {
    const answer = await fetch(`${there}/v1/socket/token`, { headers: pair.headers });
    const { socket_token } = (await answer.json()) as { socket_token: string };
    const key = `namjai:places:{${pair.clientId}:${pair.creatorId}}`;
    return {
      socket: (url: string) => openSocket(t, `${url.replace('http', 'ws')}/v1/socket?token=${socket_token}`),
      stream: (url: string) => openStream(t, url, pair),
      sockets(times: number, url: string) {
        return Promise.all(range(1, times).map(() => this.socket(url)));
      },
      /** Waits until Redis was told that the nodes hold so many of its slots. */
      async held(expected: number): Promise<void> {
        let known = 0;
        await until(
          () => `${expected} slots are held; ${known} are`,
          async () => {
            const entries = await redis.client.hVals(key).catch(() => []); // away
            known = entries.reduce((sum, entry) => sum + Number.parseInt(entry, 10), 0);
            return known === expected;
          },
        );
      },
    };
  }

  await t.test('80 sockets and streams at once: exactly 50 live, the others refused; 10 go, 10 come', async (t) => {
    const app = await appOf(t, pairs[0]!);
    const where = (i: number) => (i % 2 === 0 ? here : there);
    const opening = range(1, 80).map((i) => (i <= 60 ? app.socket(where(i)) : app.stream(where(i))));
    const lines = await Promise.all(opening);
    assert.deepEqual([count(lines, 'live'), count(lines, 4429) + count(lines, 429)], [50, 30]);
    const another = await appOf(t, pairs[1]!);
    const others = [await another.socket(here), await another.stream(there)];
    assert.equal(count(others, 'live'), 2, 'another app is not concerned');

    // Odd ones are here; forty at most are let in there.
    const leaving = live(lines.filter((_, i) => i % 2 === 1)).slice(0, 10);
    assert.equal(leaving.length, 10);
    for (const line of leaving) line.close();
    await app.held(40);
    const more = await app.sockets(15, there);
    assert.deepEqual([count(more, 'live'), count(more, 4429)], [10, 5]);
    assert.ok(
      live(lines).every((line) => leaving.includes(line) || line.open()),
      'nobody else was ended',
    );
  });

  await t.test('25 overlays of a creator at once: exactly 20', async (t) => {
    const addresses = nodes.urls.map((url) => `${url.replace('http', 'ws')}/overlay/socket`);
    const lines = await Promise.all(range(1, 25).map((i) => openSocket(t, addresses[i % 2]!, overlayKey)));
    assert.deepEqual([count(lines, 'live'), count(lines, 4429)], [20, 5]);
    const entries = await redis.client.hVals(`namjai:places:{overlay:${creatorId}}`);
    assert.equal(entries.length, 2, 'on both nodes');
  });

  await t.test('Redis stopped: nobody is cut, each node counts alone; after its return all together', async (t) => {
    const app = await appOf(t, pairs[2]!);
    const before = await app.sockets(30, here);
    assert.equal(count(before, 'live'), 30);
    await nodes.redis.kill();
    const [alone, elsewhere] = await Promise.all([app.sockets(25, here), app.sockets(10, there)]);
    assert.deepEqual([count(alone, 'live'), count(alone, 4429)], [20, 5]);
    assert.equal(count(elsewhere, 'live'), 10);

    await nodes.redis.restart();
    await app.held(60);
    const refused = await Promise.all([app.sockets(3, here), app.sockets(3, there)]);
    assert.equal(count(refused.flat(), 4429), 6);
    for (const line of before.slice(0, 15)) line.close();
    await app.held(45);
    const more = await app.sockets(8, there);
    assert.deepEqual([count(more, 'live'), count(more, 4429)], [5, 3]);
    const stay = [...before.slice(15), ...live(alone), ...elsewhere];
    assert.ok(
      stay.every((line) => line.open()),
      'nobody was ended',
    );
  });

  await t.test('a drained node moves its fifty to the other, and none is refused', async (t) => {
    const app = await appOf(t, pairs[3]!);
    const old = await Promise.all(range(1, 50).map((i) => (i <= 40 ? app.socket(here) : app.stream(here))));
    assert.equal(count(old, 'live'), 50);
    const exited = once(nodes.node(0).child, 'exit');
    const moves = old.map(async (line, i) => {
      await line.moved;
      const next = i < 40 ? await app.socket(there) : await app.stream(there);
      line.close();
      return next;
    });
    process.kill(nodes.node(0).child.pid!, 'SIGTERM');
    const moved = await Promise.all(moves);
    assert.deepEqual(
      moved.map(({ outcome }) => outcome),
      Array(50).fill('live'),
    );
    assert.deepEqual(await exited, [0, null]);
    await app.held(50);
    assert.equal((await app.socket(there)).outcome, 4429);
  });

  await t.test('kill -9 of a node frees its slots within the lease', async (t) => {
    await nodes.start(0);
    const app = await appOf(t, pairs[4]!);
    assert.equal(count(await app.sockets(50, here), 'live'), 50);
    const killedAt = performance.now();
    await nodes.node(0).kill('SIGKILL');
    assert.equal((await app.socket(there)).outcome, 4429, 'nobody knows yet');
    // When it was asked for and not when it was refused, so that a busy machine does not count.
    let refusedAfter = 0;
    await until('a slot is free', async () => {
      const askedAfter = performance.now() - killedAt;
      const { outcome } = await app.socket(there);
      if (outcome !== 'live') refusedAfter = askedAfter;
      return outcome === 'live';
    });
    assert.ok(refusedAfter < 17_000, `still refused after ${refusedAfter} ms`);
    const rest = await app.sockets(50, there);
    assert.deepEqual([count(rest, 'live'), count(rest, 4429)], [49, 1]);
    t.diagnostic(`refused for the last time after ${Math.round(refusedAfter)} ms`);
  });
});

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { rounds } from '../../../sdk/test/rounds.ts';
import { until } from '../../../sdk/test/until.ts';
import type { Pair } from '../factories.ts';
import { assertLedger } from '../ledger.ts';
import { follow, type Nodes, prepareNodes } from '../nodes.ts';
import { ca, type ProxyProcess, proxyNames, skipWithoutProxies, startProxy } from '../proxies.ts';
import { skipWithoutRedisServer } from '../redis.ts';
import { range } from '../sockets.ts';
import { makePairs, withStore } from '../store.ts';

/** As the files of `ops/` say, and as in production. */
const settings = {
  NODE_ENV: 'production',
  BASE_URL: 'https://localhost',
  AUTH_URL: 'https://localhost',
  TRUST_PROXY: '127.0.0.1/32',
  DRAIN_SECONDS: '5',
  LOG_LEVEL: 'info',
};

interface Load {
  /** Answers of each connection. */
  readonly answered: number[];
  /** Requests that the client had to send a second time. */
  repeated: number;
  longestMs: number;
  /** Requests that failed twice. */
  readonly failed: string[];
  readonly tips: Set<string>;
  /** Records a tip. Resolves to what has failed at the first try. */
  record(): Promise<string | undefined>;
  /** Stops, and waits for the last answers. */
  stop(): Promise<void>;
}

const connections = 4;
/** After this time nothing is sent in vain to a node that has died. An app repeats then what has failed. */
const noticedMs = 500;
/** A proxy that waits for a core notices later. The proof runs alone. */
const noticedTries = process.env.PROOF ? 1 : 5;

/** An app that reads and records tips by turns, and repeats once what has failed. */
function startLoad(t: TestContext, { name, url, agent }: ProxyProcess, pairs: readonly Pair[]): Load {
  let next = 0;
  let going = true;
  const load: Load = {
    answered: Array.from({ length: connections }, () => 0),
    repeated: 0,
    longestMs: 0,
    failed: [],
    tips: new Set(),
    record() {
      const i = next % 2 === 0 ? next + 1 : next;
      next = i + 1;
      return sendTwice(i);
    },
    async stop() {
      going = false;
      await working;
    },
  };

  async function send(i: number): Promise<string | undefined> {
    const { headers } = pairs[(i >> 1) % pairs.length] ?? assert.fail();
    const started = performance.now();
    try {
      const read = i % 2 === 0;
      const answer = await agent.request({
        origin: url,
        ...(read
          ? { path: '/v1/me?canary=njk_canary', method: 'GET', headers }
          : {
              path: '/v1/tips',
              method: 'POST',
              headers: { ...headers, 'content-type': 'application/json', 'idempotency-key': `${name}-${i}` },
              body: JSON.stringify({ amount: 1, name: 'PROXY' }),
            }),
      });
      const text = await answer.body.text();
      if (answer.statusCode !== (read ? 200 : 201)) return `${answer.statusCode} ${text}`;
      if (!read) load.tips.add(JSON.parse(text).id);
      return undefined;
    } catch (error) {
      return String(error);
    } finally {
      load.longestMs = Math.max(load.longestMs, performance.now() - started);
    }
  }

  /** Repeats once what has failed. Resolves to what has failed at the first try. */
  async function sendTwice(i: number): Promise<string | undefined> {
    const failure = await send(i);
    if (failure === undefined) return undefined;
    load.repeated += 1;
    await delay(noticedMs);
    const again = await send(i);
    if (again !== undefined) load.failed.push(`${i}: ${again}`);
    return failure;
  }

  async function work(_: unknown, connection: number): Promise<void> {
    while (going) {
      await sendTwice(next++);
      load.answered[connection] = (load.answered[connection] ?? 0) + 1;
      await delay(250);
    }
  }
  const working = Promise.all(Array.from({ length: connections }, work));
  t.after(load.stop);
  return load;
}

/** Waits for what is in flight on every connection, and then for so many answers more. */
async function moreAnswers(loads: readonly Load[], count: number): Promise<void> {
  const goals = loads.map(({ answered }) => answered.map((answers) => answers + 1 + count));
  await until('there are more answers', () =>
    loads.every(({ answered }, i) => answered.every((answers, j) => answers >= (goals[i]?.[j] ?? 0))),
  );
}

let probes = 0;

/** Waits until each proxy sends requests to this node, which has just come back. */
async function isUsedAgain(nodes: Nodes, index: number, proxies: readonly ProxyProcess[]): Promise<void> {
  for (const { name, url, agent, log } of proxies) {
    const path = `/probe-${++probes}`;
    await until(
      () => `${name} uses node ${index}: ${log()}\n${nodes.node(index).output().slice(-2000)}`,
      async () => {
        const answer = await agent.request({ origin: url, path, method: 'GET' }).catch(() => undefined);
        await answer?.body.dump();
        return nodes.node(index).output().includes(`"${path}"`);
      },
    );
  }
}

/** A node answers before it has read a body that is too large, and closes. That must not count as a failure of the node. */
async function sendTooMuch({ name, url, agent }: ProxyProcess, { headers }: Pair): Promise<void> {
  for (let i = 0; i < 6; i++) {
    const sent = agent.request({
      origin: url,
      path: '/v1/tips',
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: Buffer.alloc(4_000_000),
    });
    // The connection may be closed while the rest is still being sent.
    const answer = await sent.catch(() => undefined);
    await answer?.body.dump();
    if (answer) assert.equal(answer.statusCode, 413, name);
  }
}

describe('three nodes behind the proxies of ops/', { skip: skipWithoutProxies || skipWithoutRedisServer }, () => {
  test('a node killed, paused and drained under load: nothing fails that may be repeated, nothing is lost or doubled', async (t) => {
    const nodes = await prepareNodes(t, 3, settings);
    const pairs = await withStore(nodes.env, (runtime) => makePairs(runtime, 12, 20));
    await Promise.all([0, 1, 2].map(nodes.start));
    const ports = nodes.urls.map((url) => Number(new URL(url).port));
    const proxies = await Promise.all(proxyNames.map((name) => startProxy(t, name, ports)));
    const followers = await Promise.all(
      proxies.map(({ url }, i) => follow(t, [url], pairs[i] ?? assert.fail(), 0, { ca })),
    );

    for (const [i, proxy] of proxies.entries()) await sendTooMuch(proxy, pairs[i] ?? assert.fail());

    // Each has pairs of its own, other than those above, so that the limits suffice for all.
    const loads = proxies.map((proxy, i) =>
      startLoad(
        t,
        proxy,
        pairs.filter((_, j) => j >= proxies.length && j % proxies.length === i),
      ),
    );
    const longest = await throughFaults(nodes, proxies, loads);
    await Promise.all(loads.map((load) => load.stop()));

    for (const [i, { name, log }] of proxies.entries()) {
      const { answered, repeated, failed } = loads[i] ?? assert.fail();
      assert.deepEqual(failed.slice(0, 5), [], `${name}: ${log()}`);
      assert.doesNotMatch(log(), /canary|token=|Bearer/, `${name} logs no address`);
      t.diagnostic(
        `${name}: ${answered.reduce((sum, answers) => sum + answers)} answers, ${repeated} repeated by the client; longest: ${longest[i]}`,
      );
    }
    const answered = new Set(loads.flatMap(({ tips }) => [...tips]));
    const heads = await withStore(nodes.env, async ({ db }) => {
      assert.deepEqual(await assertLedger(db), answered, 'what was answered is what is recorded');
      return db.all<{ creator_id: string; sequence: number }>('SELECT creator_id, sequence FROM creator_heads');
    });
    const lastOf = new Map(heads.map(({ creator_id, sequence }) => [creator_id, sequence]));
    for (const [i, { sequences }] of followers.entries()) {
      const last = lastOf.get(pairs[i]?.creatorId ?? '') ?? 0;
      await until(`the socket through ${proxyNames[i]} has all`, () => sequences.at(-1) === last);
      assert.deepEqual(sequences, range(1, last), 'in order, none twice, none missing');
    }
  });
});

/** The longest answer of each load during each fault, as text. */
async function throughFaults(
  nodes: Nodes,
  proxies: readonly ProxyProcess[],
  loads: readonly Load[],
): Promise<string[]> {
  const longest = proxies.map(() => new Map<string, number>());
  async function fault(name: string, index: number, cause: () => Promise<void>): Promise<void> {
    for (const load of loads) load.longestMs = 0;
    await cause();
    await moreAnswers(loads, 5);
    for (const [i, { longestMs }] of loads.entries())
      longest[i]?.set(name, Math.max(longest[i].get(name) ?? 0, Math.round(longestMs)));
    await isUsedAgain(nodes, index, proxies);
  }

  await moreAnswers(loads, 3);
  for (let round = 0; round < rounds(1); round++) {
    const at = (i: number): number => (round + i) % 3;
    await fault('killed', at(0), async () => {
      await nodes.node(at(0)).kill('SIGKILL');
      await delay(noticedMs);
      for (const [i, { name, log }] of proxies.entries()) {
        const record = () => Promise.all(range(1, 6).map(() => loads[i]?.record()));
        let failed = (await record()).filter(Boolean);
        for (let tries = 1; failed.length > 0 && tries < noticedTries; tries += 1)
          failed = (await record()).filter(Boolean);
        assert.deepEqual(failed, [], `${name} has noticed: ${log()}`);
      }
      await moreAnswers(loads, 5);
      await nodes.start(at(0));
    });
    await fault('paused', at(1), async () => {
      nodes.node(at(1)).pause();
      await moreAnswers(loads, 5);
      nodes.node(at(1)).resume();
    });
    await fault('drained', at(2), async () => {
      const { child } = nodes.node(at(2));
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      const [code] = await ended;
      assert.equal(code, 0, 'it went away in peace');
      await moreAnswers(loads, 5);
      await nodes.start(at(2));
    });
  }
  return longest.map((times) => [...times].map(([name, ms]) => `${name} ${ms} ms`).join(', '));
}

import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createOAuth, fileStore } from '@namjai/sdk/oauth';
import { rounds } from '../../../sdk/test/rounds.ts';
import { seed, seeded } from '../../../sdk/test/seeded.ts';
import { createMemoryLimiter } from '../../src/platform/limiter/memory.ts';
import { buildApp } from '../build-app.ts';
import { makeApp, makeCreator } from '../factories.ts';
import { freePort } from '../free-port.ts';
import { approve, redirectUri } from '../oauth.ts';
import { type RefreshHooks, startRefreshProxy } from './refresh-proxy.ts';

/** 200 calls of four processes with one expired token, and what may happen meanwhile. */
const processes = 4;
const callsEach = 50;
const hour = 3_600_000;

const program = fileURLToPath(new URL('./sdk-app.ts', import.meta.url));

interface Setup {
  /** How long a request of the apps may take. */
  readonly timeoutMs: number;
  readonly onRefresh: (index: number) => RefreshHooks;
}

async function start(t: Pick<TestContext, 'after'>, { timeoutMs, onRefresh }: Setup) {
  const port = await freePort();
  const baseUrl = `http://localhost:${port}`;
  // 200 calls are more than a minute allows, so for the limiter a second passes with every call.
  let seconds = 0;
  const { take } = createMemoryLimiter({ now: () => 1000 * ++seconds });
  const app = await buildApp(t, { PORT: String(port), BASE_URL: baseUrl, AUTH_URL: baseUrl }, { take });
  await app.http.listen({ host: 'localhost', port });
  const client = await makeApp(app.runtime);
  const { creatorId } = await makeCreator(app.runtime);
  const path = join(app.directory, 'tokens.json');

  const store = fileStore(path);
  const encryptionKey = 'a key of thirty-two bytes or more';
  const oauth = createOAuth({ baseUrl, ...client, redirectUri, scope: 'profile.read', store, encryptionKey });
  const query = new URL((await oauth.authorize('session')).url).searchParams;
  const code = await approve(app.runtime, { creatorId }, client, { codeChallenge: query.get('code_challenge') });
  const answer = new URLSearchParams({ code, state: query.get('state') ?? '', iss: baseUrl });
  await oauth.callback('session', `${redirectUri}?${answer}`);

  const proxies = await Promise.all(
    Array.from({ length: processes }, (_, index) => startRefreshProxy(port, () => onRefresh(index))),
  );
  t.after(() => proxies.forEach((proxy) => void proxy.close()));
  const children: ChildProcess[] = [];

  async function launch(index: number): Promise<void> {
    const { url = '' } = proxies[index] ?? {};
    const child = fork(program, [baseUrl, url, client.clientId, client.clientSecret, path, String(timeoutMs)]);
    t.after(() => child.kill('SIGKILL'));
    children[index] = child;
    await once(child, 'message');
  }
  await Promise.all(Array.from({ length: processes }, (_, index) => launch(index)));

  let aheadMs = 0;
  /** One round: the token expires, all processes call. Returns the indexes of those that were killed. */
  async function round(byClock: boolean): Promise<number[]> {
    app.clock.advance(hour);
    if (byClock) aheadMs += hour;
    const killed: number[] = [];
    const work = children.map(async (child, index) => {
      const { promise, resolve } = Promise.withResolvers<string[] | 'killed'>();
      const killedNow = () => resolve('killed');
      child.once('exit', killedNow);
      child.once('message', ({ errors }: { errors: string[] }) => resolve(errors));
      child.send({ creatorId, calls: callsEach, aheadMs });
      const result = await promise;
      child.off('exit', killedNow);
      if (result === 'killed') killed.push(index);
      else assert.deepEqual(result, []);
    });
    await Promise.all(work);
    return killed;
  }

  return {
    round,
    /** Starts those again that were killed, also after their answer. */
    async revive(): Promise<void> {
      for (const [index, { killed }] of children.entries()) if (killed) await launch(index);
    },
    kill: (index: number) => void children[index]?.kill('SIGKILL'),
    seen: () => ({
      refreshes: proxies.reduce((sum, { seen }) => sum + seen.refreshes, 0),
      invalidGrants: proxies.reduce((sum, { seen }) => sum + seen.invalidGrants, 0),
    }),
  };
}

const cuts = rounds(4);

test(`one refresh reaches the server; its answer cut off every third time, ${cuts} rounds, costs nothing`, {
  timeout: 1_200_000 + cuts * 60_000,
}, async (t) => {
  let [refreshes, cut, cutting] = [0, 0, false];
  const { round, seen } = await start(t, {
    timeoutMs: 60_000,
    onRefresh() {
      refreshes += 1;
      const dropped = cutting && refreshes % 3 === 0;
      if (dropped) cut += 1;
      return { answer: () => !dropped };
    },
  });
  for (const [count, byClock] of [false, true].entries()) {
    assert.deepEqual(await round(byClock), []);
    assert.deepEqual(seen(), { refreshes: count + 1, invalidGrants: 0 });
  }
  cutting = true;
  for (let count = 0; count < cuts; count += 1) {
    assert.deepEqual(await round(count % 2 === 0), []);
    assert.deepEqual(seen(), { refreshes: 2 + count + 1 + cut, invalidGrants: 0 });
  }
  assert.ok(cut >= Math.floor(cuts / 3), 'some were cut off');
  t.diagnostic(JSON.stringify({ rounds: cuts, refreshes, cut }));
});

const kills = rounds(4);

test(`a process is killed in each of ${kills} rounds (seed ${seed}): nothing is lost`, {
  timeout: 1_200_000 + kills * 60_000,
}, async (t) => {
  const random = seeded(seed);
  const moments = ['request', 'answer', 'passed', 'time'] as const;
  let moment: (typeof moments)[number] | null = null;
  const setup = await start(t, {
    timeoutMs: 3000,
    onRefresh(index) {
      const strike = () => {
        moment = null;
        kill(index);
        return true;
      };
      return moment === null || moment === 'time' ? {} : { [moment]: strike };
    },
  });
  const { round, revive, kill, seen } = setup;
  const counts: Record<string, number> = {};
  for (let count = 0; count < kills; count += 1) {
    moment = moments[Math.floor(random() * moments.length)] ?? 'time';
    const name = moment;
    const [afterMs, index] = [random() * 150, Math.floor(random() * processes)];
    const running = round(random() < 0.5);
    if (name === 'time') {
      await sleep(afterMs);
      kill(index);
    }
    const killed = await running;
    counts[name] = (counts[name] ?? 0) + killed.length;
    assert.equal(seen().invalidGrants, 0);
    moment = null;
    await revive();
  }
  moment = null;
  assert.deepEqual(await round(false), []);
  assert.equal(seen().invalidGrants, 0);
  t.diagnostic(JSON.stringify({ killed: counts, ...seen() }));
});

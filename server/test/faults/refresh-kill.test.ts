import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { rounds } from '../../../sdk/test/rounds.ts';
import type { Runtime } from '../../src/runtime.ts';
import { makeApp, makeCreator, makePair, type Pair } from '../factories.ts';
import { startServer } from '../server-process.ts';
import { sameIssuer, withStore } from '../store.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

const kills = rounds(20);

/** What became of one refresh that was sent before the server was killed. */
interface Sent {
  readonly pair: Pair;
  readonly old: string;
  /** The key of a refresh that can be repeated. */
  readonly key: string | undefined;
  /** Nothing if no answer came. */
  readonly answer: { access_token: string; refresh_token: string } | undefined;
}

async function refresh(url: string, { clientId, clientSecret }: Pair, token: string, key?: string) {
  const answer = await fetch(`${url}/v1/oauth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(key === undefined ? {} : { 'idempotency-key': key }) },
    body: JSON.stringify({
      grant_type: 'refresh_token',
      client_id: clientId,
      client_secret: clientSecret,
      refresh_token: token,
    }),
  });
  return { status: answer.status, body: await answer.json() };
}

/** Refreshes until the server is gone; the last one sent is the one that counts. */
async function refreshUntilCut(url: string, pair: Pair, withKeys: boolean, onAnswer: () => void): Promise<Sent> {
  for (let old = pair.refreshToken, n = 0; ; n++) {
    const key = withKeys ? `refresh-${n}` : undefined;
    const answer = await refresh(url, pair, old, key).catch(() => undefined);
    if (!answer) return { pair, old, key, answer: undefined };
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    old = answer.body.refresh_token;
    onAnswer();
  }
}

/** Waits before it is sent for so many answers to the others. */
async function refreshOnce(url: string, pair: Pair, withKey: boolean, turn: Promise<void>): Promise<Sent> {
  await turn;
  const key = withKey ? 'once' : undefined;
  const answer = await refresh(url, pair, pair.refreshToken, key).catch(() => undefined);
  if (answer) assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return { pair, old: pair.refreshToken, key, answer: answer?.body };
}

/** Of a load: counts its answers, and tells when there are so many. */
function countAnswers() {
  let count = 0;
  const waiting: { goal: number; resolve: () => void }[] = [];
  return {
    add: () => {
      count += 1;
      for (const { goal, resolve } of waiting) if (count >= goal) resolve();
    },
    reach: (goal: number) =>
      new Promise<void>((resolve) => {
        waiting.push({ goal, resolve });
        if (count >= goal) resolve();
      }),
  };
}

async function assertRefused(url: string, pair: Pair, token: string, why: string): Promise<void> {
  const { status, body } = await refresh(url, pair, token);
  assert.deepEqual([status, body.error], [400, 'invalid_grant'], why);
}

async function assertFamilyLives(url: string, accessToken: string): Promise<void> {
  const answer = await fetch(`${url}/v1/me`, { headers: { authorization: `Bearer ${accessToken}` } });
  assert.equal(answer.status, 200, 'a retry within the race window leaves the family alive');
}

/** After the restart, with its key: the refresh works again, whether it was recorded or not, and so does the new pair. */
async function repeat(url: string, { pair, old, answer }: Sent, key: string): Promise<'repeated'> {
  const again = await refresh(url, pair, old, key);
  assert.equal(again.status, 200, `a lost answer costs nothing: ${JSON.stringify(again.body)}`);
  if (answer) await assertRefused(url, pair, answer.refresh_token, 'the pair that was replaced is dead');
  const { status, body } = await refresh(url, pair, again.body.refresh_token);
  assert.equal(status, 200, 'the new pair works');
  await assertFamilyLives(url, body.access_token);
  return 'repeated';
}

type Outcome = 'answered' | 'recorded' | 'not recorded' | 'repeated';

/** After the restart: exactly one of the old token and its successor works, and the family lives. */
async function settle(url: string, sent: Sent): Promise<Outcome> {
  const { pair, old, key, answer } = sent;
  if (key !== undefined) return repeat(url, sent, key);
  if (answer) {
    await assertRefused(url, pair, old, 'an answered refresh has used its token up');
    const { status } = await refresh(url, pair, answer.refresh_token);
    assert.equal(status, 200, 'the successor of an answered refresh works');
    await assertFamilyLives(url, answer.access_token);
    return 'answered';
  }
  const { status, body } = await refresh(url, pair, old);
  if (status === 200) {
    await assertRefused(url, pair, old, 'never do both work');
    await assertFamilyLives(url, body.access_token);
    return 'not recorded';
  }
  assert.deepEqual([status, body.error], [400, 'invalid_grant']);
  await assertRefused(url, pair, old, 'a recorded rotation stays');
  await assertFamilyLives(url, pair.accessToken);
  return 'recorded';
}

async function assertOneUnusedTokenEach({ db }: Runtime): Promise<void> {
  const families = await db.all<{ unused: number }>(
    `SELECT SUM(CASE WHEN used_at IS NULL THEN 1 ELSE 0 END) AS unused FROM refresh_tokens GROUP BY creator_id, family_id`,
  );
  assert.ok(families.every(({ unused }) => unused === 1));
}

test(`kill -9 during refreshes, ${kills} rounds: never do the old token and its successor both work, and with a key nothing is lost`, {
  timeout: 1_200_000 + kills * 11_000,
}, async (t) => {
  const directory = temporaryDirectory(t);
  const env = {
    ...sameIssuer,
    DATABASE_URL: `sqlite:${join(directory, 'namjai.db')}`,
    REFRESH_RACE_SECONDS: '300',
    // Fifty starts take a while; a process that is killed leaves no cache, so one is let go in peace.
    NODE_COMPILE_CACHE: join(directory, 'compiled'),
  };
  const start = async () => {
    const server = await startServer({ env });
    t.after(() => server.kill());
    return server;
  };
  const outcomes: Record<string, number> = {};
  await withStore(env, async (store) => {
    const app = await makeApp(store);
    const newPair = async () => makePair(store, { app, creator: await makeCreator(store) });
    let sent: Sent[] = [];
    await (await start()).kill('SIGTERM');
    let successor = start();
    for (let round = 0; round <= kills; round++) {
      const server = await successor;
      // Started ahead, so that the next round need not wait for it.
      successor = start();
      for (const outcome of await Promise.all(sent.map((one) => settle(server.url, one))))
        outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      const pairs = await Promise.all(Array.from({ length: 8 }, newPair));
      // By answers and not by the clock, so that a slow machine is in mid-load too; then at another point of a refresh.
      const goal = 8 + (round % 10) * 4;
      const answers = countAnswers();
      const load = pairs.map((pair, i) =>
        i % 2
          ? refreshUntilCut(server.url, pair, i % 4 === 1, answers.add)
          : refreshOnce(server.url, pair, i % 4 === 0, answers.reach((goal * i) / 8)),
      );
      await Promise.race([answers.reach(goal), Promise.all(load)]);
      await sleep(round % 7);
      await server.kill();
      sent = await Promise.all(load);
    }
    await (await successor).kill();
    await assertOneUnusedTokenEach(store);
  });
  t.diagnostic(JSON.stringify(outcomes));
  if (kills < 20) return; // a few rounds may have had no luck
  assert.ok((outcomes.answered ?? 0) > kills / 10, 'some refreshes were answered');
  assert.ok((outcomes['not recorded'] ?? 0) + (outcomes.recorded ?? 0) > kills / 10, 'some were cut off');
});

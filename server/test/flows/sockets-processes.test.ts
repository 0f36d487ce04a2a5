import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { until } from '../../../sdk/test/until.ts';
import { makePair, type Pair } from '../factories.ts';
import { startServer } from '../server-process.ts';
import { connect, range } from '../sockets.ts';
import { startStopwatch } from '../stopwatch.ts';
import { makePairs, sameIssuer, withStore } from '../store.ts';
import { type Subscriber, subscribe } from '../subscribers.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

const program = fileURLToPath(new URL('../../bin/namjai.js', import.meta.url));

const settings = (t: TestContext) => ({
  ...sameIssuer,
  DATABASE_URL: `sqlite:${join(temporaryDirectory(t), 'namjai.db')}`,
});

async function tokenOf(url: string, { headers }: Pair): Promise<string> {
  const answer = await fetch(`${url}/v1/socket/token`, { headers });
  const { socket_token } = (await answer.json()) as { socket_token: string };
  return socket_token;
}

test('the command line, another process, reaches and ends a socket within a second', async (t) => {
  const env = settings(t);
  const pair = await withStore(env, (runtime) => makePair(runtime));
  const server = await startServer({ env });
  t.after(() => server.kill());
  const client = connect(t, new URL(server.url).host, { token: await tokenOf(server.url, pair) });
  await client.frame(1);
  const run = (...args: string[]) =>
    promisify(execFile)(process.execPath, [program, ...args, '--json'], { env: { ...process.env, ...env } });
  await run('trigger', 'tip', '--creator', pair.username);
  await client.frame(2);
  assert.deepEqual(client.sequences(), [1]);
  await run('grant', 'revoke', '--creator', pair.username, '--client', pair.clientId);
  const stopwatch = startStopwatch(server.child.pid);
  const { code } = await client.closed;
  const took = stopwatch();
  assert.equal(code, 4403);
  assert.ok(took < 1000, `it took ${took} ms`);
});

const creators = 100;
const each = 50;

test(`${creators * each} sockets idle on one process; a SIGTERM moves them all without one lost event`, async (t) => {
  const env = settings(t);
  const pairs = await withStore(env, (runtime) => makePairs(runtime, creators, 1));
  const [first, second] = [await startServer({ env }), await startServer({ env })];
  t.after(() => Promise.all([first.kill(), second.kill()]));
  let url = first.url;
  const clients: { creatorId: string; subscriber: Subscriber }[] = [];
  t.after(() => {
    for (const { subscriber } of clients) subscriber.close();
  });
  for (const pair of pairs) {
    const token = await tokenOf(url, pair);
    for (const _ of range(1, each))
      clients.push({ creatorId: pair.creatorId, subscriber: subscribe(() => url, pair, token) });
    await sleep(5);
  }
  await until('all are live', () => clients.every(({ subscriber }) => subscriber.live()));

  let rounds = 0;
  const record = () =>
    withStore(env, async ({ tips }) => {
      rounds += 1;
      for (const { creatorId } of pairs)
        await tips.record({ creatorId, app: null, amount: 1, name: 'MOVE', displayName: null, message: null });
    });
  await record();
  url = second.url;
  const gone = once(first.child, 'exit');
  process.kill(first.child.pid!, 'SIGTERM');
  let left = false;
  void gone.then(() => {
    left = true;
  });
  await until('the first process has ended', async () => {
    await record();
    await Promise.race([gone, sleep(500)]);
    return left;
  });
  const [code] = await gone;
  assert.equal(code, 0);
  await record();
  const complete = () => clients.every(({ subscriber }) => subscriber.sequences.length >= rounds);
  await until('everyone has everything', complete);
  for (const { subscriber } of clients) {
    assert.deepEqual(subscriber.sequences, range(1, rounds));
    assert.equal(subscriber.resets, 0);
    assert.equal(subscriber.connections, 2, 'one connection to each process');
  }
  t.diagnostic(`${clients.length} sockets moved, ${rounds} events each`);
});

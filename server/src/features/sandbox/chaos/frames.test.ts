import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createClient } from '@namjai/sdk';
import { until } from '../../../../../sdk/test/until.ts';
import { makePair, type Pair } from '../../../../test/factories.ts';
import { makeSandboxPair } from '../../../../test/sandbox-pair.ts';
import { connect, type LiveApp, listen, range, recordTips, socketToken } from '../../../../test/sockets.ts';
import { decide, noShares } from './decide.ts';

async function setup(t: TestContext) {
  const app = await listen(t);
  const pair = await makeSandboxPair(app.runtime);
  return { app, pair, chaos: app.runtime.chaos };
}

/** Opens a socket. `closed` resolves to the code and the words of the close. */
async function open(t: TestContext, app: LiveApp, pair: Pick<Pair, 'headers'>, query: Record<string, number> = {}) {
  const client = connect(t, app.address, { token: await socketToken(app, pair), ...query });
  const closed = new Promise<[number, string]>((resolve) =>
    client.webSocket.on('close', (code, reason) => resolve([code, String(reason)])),
  );
  return { ...client, closed };
}

test('socket_drop closes with 1012 and says why; sockets of others stay', async (t) => {
  const { app, pair, chaos } = await setup(t);
  const real = await makePair(app.runtime, { app: pair });
  const other = await open(t, app, real);
  await other.frame(1);
  const socket = await open(t, app, pair);
  await socket.frame(1);
  await chaos.save(pair, 'seed', { socket_drop: 1000 });
  await recordTips(app, pair.creatorId, 1);
  assert.deepEqual(await socket.closed, [1012, 'chaos: socket_drop']);
  const [fault] = await chaos.faults(pair, 10);
  assert.deepEqual([fault?.kind, fault?.n, fault?.subject], ['socket_drop', 1, 'socket']);

  const again = await open(t, app, pair, { after: 0 });
  assert.deepEqual(await again.closed, [1012, 'chaos: socket_drop'], 'the welcome counts, too');
  await recordTips(app, real.creatorId, 3);
  await until('the others go on', () => other.sequences().length === 3);
  // The welcome and the replayed event are counted at the same time; either may close the socket.
  await until('one that came back with its position is counted', async () => (await chaos.of(pair))?.resumed === 1);
});

test('a stream is ended with a comment that says why', async (t) => {
  const { app, pair, chaos } = await setup(t);
  await chaos.save(pair, 'seed', { socket_drop: 1000 });
  const response = await fetch(`http://${app.address}/v1/events/stream`, { headers: pair.headers });
  assert.match(await response.text(), /^: welcome\nid: 0\n\n: chaos: socket_drop\n\n$/);
});

test('revoked closes open sockets with 4403, and new ones at once', async (t) => {
  const { app, pair, chaos } = await setup(t);
  const token = await socketToken(app, pair);
  const socket = await open(t, app, pair);
  await socket.frame(1);
  await chaos.save(pair, 'seed', { revoked: 1000 });
  assert.equal((await app.http.inject({ url: '/v1/me', headers: pair.headers })).statusCode, 403);
  assert.deepEqual(await socket.closed, [4403, 'chaos: revoked']);
  const refused = connect(t, app.address, { token });
  assert.equal((await refused.closed).code, 4403);
  await chaos.stop(pair);
  await (await open(t, app, pair)).frame(1);
});

test('an app of the SDK gets every event once, in order, through as many drops as the seed says', async (t) => {
  const { app, pair, chaos } = await setup(t);
  const shares = { ...noShares, socket_drop: 250 };
  await chaos.save(pair, 'drops', shares);
  const seen: number[] = [];
  const client = createClient({ baseUrl: `http://${app.address}`, accessToken: pair.accessToken });
  const connection = client.events.connect({
    after: 0,
    onEvent: ({ sequence }) => void seen.push(sequence),
    timer: (ms, run) => {
      // Whatever waits for a dead line waits as usual.
      const timer = setTimeout(run, ms < 30_000 ? Math.min(ms, 20) : ms);
      return () => clearTimeout(timer);
    },
  });
  t.after(() => connection.close());
  for (const sequence of range(1, 30)) {
    await recordTips(app, pair.creatorId, 1);
    await until(`event ${sequence} has come`, () => seen.length >= sequence);
    // The limit of reads counts the tokens of the sockets.
    app.clock.advance(1_000);
  }
  assert.deepEqual(seen, range(1, 30));
  await until('all events are counted', async () => ((await chaos.of(pair))?.frames ?? 0) >= 30);
  // From here on nothing is counted.
  await chaos.stop(pair);
  await until('it is connected', () => connection.status === 'live');
  const row = await chaos.of(pair);
  const drops = range(1, row?.frames ?? 0).filter((n) => decide('drops', shares, 'frame', n) !== undefined);
  const faults = (await chaos.faults(pair, 100)).map(({ n }) => n).reverse();
  assert.deepEqual(faults, drops);
  assert.ok(drops.length > 3);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { manualClock } from '../../test/clock.ts';
import { createEventServer, event, type ServerConnection } from '../../test/event-server.ts';
import { memoryFetch } from '../../test/memory-fetch.ts';
import { memoryNetwork } from '../../test/memory-network.ts';
import { rounds } from '../../test/rounds.ts';
import { seed, seeded } from '../../test/seeded.ts';
import { connectEvents } from './connect.ts';

const EVENTS = 2000;
const FAULTS = 50;
const HOUR = 3_600_000;

const transports = {
  WebSocket: 'ws://memory/v1/socket',
  'Server-Sent Events': 'http://memory/v1/events/stream',
};

for (const [transport, url] of Object.entries(transports)) {
  for (const start of Array.from({ length: rounds(1) }, (_, round) => seed + round))
    test(`${transport}: ${EVENTS} events through ${FAULTS} faults, each once, in order (TEST_SEED=${start})`, async (t) => {
      const run = await chaos(url, start);
      assert.deepEqual(
        run.seen,
        Array.from({ length: EVENTS }, (_, index) => index + 1),
      );
      assert.deepEqual(run.resets, []);
      assert.ok(run.connections > FAULTS);
      t.diagnostic(`${run.connections} connections; ${JSON.stringify(run.faults)}`);
    });

  test(`${transport}: a run repeats exactly by its seed (TEST_SEED=${seed})`, async () => {
    assert.deepEqual(await chaos(url, seed), await chaos(url, seed));
  });
}

/** Client and server in virtual time, over a network in memory: all that happens follows from the seed. */
async function chaos(url: string, start: number) {
  const clock = manualClock();
  const random = seeded(start);
  const server = createEventServer(url);
  const seen: number[] = [];
  const resets: unknown[] = [];
  const history: unknown[] = [];
  const faults: Record<string, number> = {};
  const sleep = (ms: number) => new Promise<void>((resolve) => clock.timer(ms, resolve));
  let doing = '';

  const connection = connectEvents({
    url: server.url,
    token: () => 'token',
    after: 0,
    maxWaiting: 40,
    onEvent: async ({ sequence }) => {
      if (random() < 0.02) await sleep(random() * 4000);
      seen.push(sequence);
    },
    onReset: (reset) => resets.push(reset),
    onStatus: (status, { code, retryMs }) => history.push([clock.now, status, code, retryMs]),
    timer: clock.timer,
    random,
    WebSocket: memoryNetwork(server, clock, random),
    fetch: memoryFetch(server, clock, random),
  });

  const codes = [4400, 4402, 4408, 1012, 4401];
  /** What can happen to the newest connection. Each of these makes the client connect anew, sooner or later. */
  const breakConnection = {
    cut: ({ socket }: ServerConnection) => socket.terminate(),
    close: ({ socket }: ServerConnection) => socket.close(codes[Math.floor(random() * codes.length)]),
    stall: (serverConnection: ServerConnection) => {
      serverConnection.live = false;
    },
    move: (serverConnection: ServerConnection) =>
      serverConnection.send({ type: 'reconnect', after_ms: Math.floor(random() * 500) }),
    gap: (serverConnection: ServerConnection) => {
      // An older connection would bring the events between, before the client has seen the welcome of this one. No gap then.
      for (const older of server.connections) if (older !== serverConnection && older.live) older.socket.terminate();
      serverConnection.send({ type: 'event', event: event(server.newest() + 2) });
    },
  };
  const kinds = Object.keys(breakConnection) as (keyof typeof breakConnection)[];

  async function waitFor(what: string, condition: () => boolean): Promise<void> {
    doing = `waited until ${what}`;
    while (!condition()) await sleep(random() * 100);
  }

  async function scenario(): Promise<void> {
    await waitFor('it is live', () => connection.status === 'live');
    for (let injected = 0; injected < FAULTS; injected += 1) {
      // The faults are spread over the events: the last stretch is recorded after the last fault.
      const stretch = Math.ceil((EVENTS * (injected + 1)) / (FAULTS + 1));
      await recordUntil(stretch);
      await waitFor(`there is a connection to break by fault ${injected + 1}`, () => server.last().live);
      const kind = kinds[Math.floor(random() * kinds.length)] ?? 'cut';
      const serverConnection = server.last();
      breakConnection[kind](serverConnection);
      faults[kind] = (faults[kind] ?? 0) + 1;
      history.push([clock.now, kind]);
      // Most often events go on while the client connects anew, sometimes until it has.
      if (random() < 0.7) await recordUntil(Math.min(server.newest() + Math.floor(random() * 20), stretch + 19));
      await waitFor(`there is a new connection after the fault "${kind}"`, () => server.last() !== serverConnection);
    }
    await recordUntil(EVENTS);
    await waitFor('all events are seen', () => connection.position === EVENTS);
  }

  async function recordUntil(count: number): Promise<void> {
    while (server.newest() < count) {
      server.record(Math.min(1 + Math.floor(random() * 30), count - server.newest()));
      if (random() < 0.7) await sleep(random() * 2000);
      const serverConnection = server.last();
      if (serverConnection.live)
        for (const known of server.log.slice(-3)) serverConnection.send({ type: 'event', event: known });
    }
  }

  let ended = false;
  const running = scenario().finally(() => {
    ended = true;
  });
  while (!ended) {
    // Everything that follows from a timer happens before the next timer.
    await turn();
    if (ended) break;
    const state = `${doing}: ${server.newest()} recorded, ${connection.position} seen, ${server.connections.length} connections`;
    assert.ok(clock.now < 2 * HOUR && clock.advanceToNext(), `no end after ${clock.now} ms, ${state}`);
  }
  await running;
  connection.close();
  return { seen, resets, history, faults, connections: server.connections.length };
}

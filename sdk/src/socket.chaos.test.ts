import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { manualClock, until } from '../test/clock.ts';
import { event, type ServerLine, startEventServer } from '../test/event-server.ts';
import { connectEvents } from './socket.ts';

const EVENTS = 2000;
const FAULTS = 50;
const seed = Number(process.env.CHAOS_SEED ?? Date.now() % 1_000_000);

/** mulberry32: a failing run can be repeated with CHAOS_SEED. */
function seeded(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

test(`${EVENTS} events through ${FAULTS} faults: each once, in order (CHAOS_SEED=${seed})`, async (t) => {
  const server = await startEventServer(t);
  const clock = manualClock();
  const random = seeded(seed);
  const seen: number[] = [];
  const resets: unknown[] = [];
  const codes = [4400, 4402, 4408, 1012, 4401];
  const faults: Record<string, number> = {};
  let injected = 0;
  let broken: ServerLine | undefined;

  // 400 virtual milliseconds a real one: a dead line takes an eighth of a real second to be found.
  const pump = setInterval(() => clock.advance(400), 1);
  t.after(() => clearInterval(pump));
  const connection = connectEvents({
    url: server.url,
    token: () => 'token',
    after: 0,
    maxWaiting: 100,
    onEvent: async ({ sequence }) => {
      if (random() < 0.02) await sleep(random() * 10);
      seen.push(sequence);
    },
    onReset: (reset) => resets.push(reset),
    timer: clock.timer,
    random,
  });
  t.after(() => connection.close());

  const breakLine: Record<string, () => void> = {
    cut: () => server.last().socket.terminate(),
    close: () => server.last().socket.close(codes[Math.floor(random() * codes.length)]),
    stall: () => {
      server.last().live = false;
    },
    move: () => server.last().send({ type: 'reconnect', after_ms: Math.floor(random() * 500) }),
    gap: () => server.last().send({ type: 'event', event: event((server.log.at(-1)?.sequence ?? 0) + 2) }),
  };
  const kinds = Object.keys(breakLine);

  await until('it is live', () => connection.status === 'live');
  while (server.log.length < EVENTS) {
    // The faults are spread over the events: the last stretch is recorded after the last fault.
    const allowed = Math.ceil((EVENTS * (injected + 1)) / (FAULTS + 1));
    server.record(Math.min(1 + Math.floor(random() * 30), Math.max(allowed - server.log.length, 0)));
    if (random() < 0.7) await sleep(random() * 5);
    for (const known of server.log.slice(-3))
      if (server.last().live) server.last().send({ type: 'event', event: known });
    if (injected >= FAULTS || !server.last().live || server.last() === broken || random() > 0.7) {
      await sleep(1);
      continue;
    }
    const kind = kinds[Math.floor(random() * kinds.length)] ?? 'cut';
    broken = server.last();
    breakLine[kind]?.();
    faults[kind] = (faults[kind] ?? 0) + 1;
    injected += 1;
  }
  await until('all events are seen', () => connection.position === EVENTS);
  assert.deepEqual(
    seen,
    Array.from({ length: EVENTS }, (_, index) => index + 1),
  );
  assert.deepEqual(resets, []);
  assert.ok(server.lines.length > FAULTS);
  t.diagnostic(`${server.lines.length} connections; ${JSON.stringify(faults)}`);
});

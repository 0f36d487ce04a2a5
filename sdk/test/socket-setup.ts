import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { connectEvents } from '../src/events/index.ts';
import type { ConnectOptions, StatusDetail } from '../src/events/types.ts';
import { type ManualClock, manualClock } from './clock.ts';
import { startEventServer } from './event-server.ts';
import { until } from './until.ts';

export const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);

/** A server, a clock, and a client that writes down whatever it is told. `random` is 0.5, so waits are known. */
export async function setUp(t: TestContext, options: Partial<ConnectOptions> = {}) {
  const server = await startEventServer(t);
  const clock: ManualClock = manualClock();
  const seen: number[] = [];
  const errors: unknown[] = [];
  const resets: unknown[] = [];
  const statuses: [string, StatusDetail][] = [];
  let tokens = 0;
  const connect = (more: Partial<ConnectOptions> = {}) => {
    const connection = connectEvents({
      url: server.url,
      token: () => `token-${++tokens}`,
      onEvent: ({ sequence }) => seen.push(sequence),
      onError: (error) => errors.push(error),
      onReset: (reset) => resets.push(reset),
      onStatus: (status, detail) => statuses.push([status, detail]),
      timer: clock.timer,
      random: () => 0.5,
      ...options,
      ...more,
    });
    t.after(() => connection.close());
    return connection;
  };
  const connections = (count: number) =>
    until(`${count} connections are live`, () => server.connections.length === count && server.last().live);
  const saw = (expected: number[]) =>
    until(`${expected.length} events are seen`, () => seen.length >= expected.length).then(() =>
      assert.deepEqual(seen, expected),
    );
  const statusSeen = (status: string, times = 1) =>
    until(`${status} is told`, () => statuses.filter(([name]) => name === status).length >= times);
  const lastWait = () => statuses.findLast(([name]) => name === 'waiting')?.[1];
  return { server, clock, seen, errors, resets, statuses, connect, connections, saw, statusSeen, lastWait };
}

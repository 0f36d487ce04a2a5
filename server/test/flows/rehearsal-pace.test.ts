import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { rounds } from '../../../sdk/test/rounds.ts';
import { until } from '../../../sdk/test/until.ts';
import { readConfig } from '../../src/config.ts';
import { createLog } from '../../src/platform/log.ts';
import { createRuntime } from '../../src/runtime.ts';
import { createTestClock, storageSettings } from '../build-app.ts';
import { makeCreator } from '../factories.ts';
import { freePort } from '../free-port.ts';
import { everythingStored, hour, openRehearsalOverlay, tipsAt } from '../rehearsals.ts';
import { startServer } from '../server-process.ts';
import { range } from '../sockets.ts';
import { sameIssuer, withStore } from '../store.ts';

const count = rounds(8);
const [apartMs, pace] = [(4 * hour) / 500, 100];
const wantedMs = apartMs / pace;
const tolerance = wantedMs / 20;

/** Tips of an evening, recorded before the server starts. */
async function recordEvening(env: Record<string, string>, evening: number) {
  const clock = createTestClock(evening);
  const runtime = await createRuntime(readConfig(env), { clock, log: createLog({ level: 'silent' }) });
  try {
    const { creatorId } = await makeCreator(runtime);
    const times = range(0, count - 1).map((n) => evening + n * apartMs);
    return {
      creatorId,
      ids: await tipsAt({ runtime, clock }, creatorId, times),
      key: await runtime.overlays.key(creatorId),
    };
  } finally {
    await runtime.close();
  }
}

/**
 * Milliseconds for which the machine can have held up these processes: any of their threads was ready to run while others
 * had the cores. Only Linux tells.
 */
const waitedForCore = (pids: readonly (number | undefined)[]): number =>
  pids.flatMap(threadsOf).reduce((sum, file) => sum + waitOf(file), 0);

function threadsOf(pid: number | undefined): string[] {
  const folder = `/proc/${pid}/task`;
  return existsSync(folder) ? readdirSync(folder).map((id) => `${folder}/${id}/schedstat`) : [];
}

/** Of a thread that has ended meanwhile: nothing. */
function waitOf(file: string): number {
  try {
    return Number(readFileSync(file, 'latin1').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}

/** How long the commits of a server have taken so far: on SQLite that is the flush of the disk. */
async function commitMs(metricsUrl: string): Promise<number> {
  const text = await (await fetch(metricsUrl)).text();
  return Number(/^namjai_database_commit_seconds_total (\S+)$/m.exec(text)?.[1] ?? 0) * 1000;
}

/** A server of its own plays the evening; this process has an overlay's connection and notes when each alert arrives. */
async function rehearse(t: TestContext) {
  const env = { ...sameIssuer, ...(await storageSettings(t)) };
  const evening = Date.now() - 6 * hour;
  const { creatorId, ids, key } = await recordEvening(env, evening);
  const METRICS_PORT = String(await freePort());
  const server = await startServer({ env: { ...env, METRICS_PORT } });
  t.after(() => server.kill());
  const arrivals: { readonly at: number; readonly waited: number; readonly committed: Promise<number> }[] = [];
  const page = await openRehearsalOverlay(t, new URL(server.url).host, key, 3, ({ alerts }) => {
    const at = performance.now();
    const waited = waitedForCore([process.pid, server.child.pid]);
    const committed = commitMs(`http://127.0.0.1:${METRICS_PORT}/metrics`).catch(() => 0);
    for (const _ of alerts) arrivals.push({ at, waited, committed });
  });
  const before = await withStore(env, ({ db }) => everythingStored(db));
  const span = { from: evening, to: evening + count * apartMs };
  const begun = await withStore(env, ({ rehearsals }) => rehearsals.start(creatorId, span, pace));
  assert.ok(typeof begun === 'object' && begun.total === count);
  const over = ['finished', 'ended'];
  await until('the overlay is told of the end', () => over.includes(page.status() ?? ''), 600_000);
  assert.equal(page.status(), 'finished');
  const [after, row] = await withStore(env, ({ db, rehearsals }) =>
    Promise.all([everythingStored(db), rehearsals.current(creatorId)]),
  );
  const events = page.alerts().map(({ event }) => event);
  const committed = await Promise.all(arrivals.map((arrival) => arrival.committed));
  return {
    before,
    after,
    ids,
    events,
    startedAt: row?.started_at ?? 0,
    arrivals: arrivals.map((each, n) => ({ ...each, committed: committed[n] ?? 0 })),
  };
}

const near = (gap: number): boolean => Math.abs(gap - wantedMs) <= tolerance;
const differences = (values: readonly number[]): number[] =>
  values.slice(1).map((value, n) => value - (values[n] ?? 0));

test(`a server plays ${count} tips of 28.8 seconds apart in ${wantedMs} ms each: in order, none early, nothing changed`, async (t) => {
  const { before, after, ids, events, startedAt, arrivals } = await rehearse(t);
  assert.deepEqual(
    events.map(({ data }) => data.tip.id),
    ids,
    'in the order of the evening',
  );
  assert.deepEqual(after, before, 'totals and history are the same to the byte');
  const issued = events.map(({ created_at }) => Date.parse(created_at));
  const late = issued.map((at, n) => at - startedAt - n * wantedMs);
  assert.ok(Math.min(...late) > -tolerance, 'none is early');

  const gaps = differences(arrivals.map(({ at }) => at));
  const flushes = differences(arrivals.map(({ committed }) => committed));
  const waits = differences(arrivals.map(({ waited }) => waited));
  /** The machine can have held up either end of a gap. */
  const ofMachine = (values: readonly number[], n: number) => (values[n] ?? 0) + (values[n - 1] ?? 0);
  const explained = (gap: number, n: number) =>
    near(gap) || Math.abs(gap - wantedMs) - ofMachine(flushes, n) - ofMachine(waits, n) <= tolerance;
  const share = (all: readonly number[]) =>
    `${all.filter(near).length} of ${all.length} within 5 %, ${Math.round(Math.min(...all))} to ${Math.round(Math.max(...all))} ms`;
  t.diagnostic(`gaps between the writes as issued: ${share(differences(issued))}`);
  t.diagnostic(`gaps at an overlay, after the commit: ${share(gaps)}`);
  t.diagnostic(`${gaps.filter(explained).length} within 5 % but for flushes of the disk and waits for a core`);
  t.diagnostic(
    `the longest flush took ${Math.round(Math.max(...flushes))} ms, the longest wait ${Math.round(Math.max(...waits))} ms`,
  );
  if (count < 100) return;
  assert.ok(
    differences(issued).filter(explained).length >= gaps.length * 0.99,
    'issued within 5 %, but for the machine',
  );
  assert.ok(gaps.filter(explained).length >= gaps.length * 0.99, '99 of 100 gaps are within 5 %, but for the machine');
});

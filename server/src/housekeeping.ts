import { Counter, Gauge } from 'prom-client';
import type { Runtime } from './runtime.ts';

const minute = 60_000;
const hour = 60 * minute;

interface Job {
  readonly everyMs: number;
  run(runtime: Runtime): unknown;
  /** Decides by the clock what is old. Left out while this node's clock is far ahead: what it calls old may be of today. */
  readonly needsClock?: true;
}

const prunes = (everyMs: number, run: Job['run']): Job => ({ everyMs, run, needsClock: true });

/** Periodic jobs. A job that fails does not affect the others and runs again at its next time. */
export const jobs: Record<string, Job> = {
  'copy the database': { everyMs: minute / 6, run: ({ copies }) => copies?.tick() },
  // So that what was erased leaves the files within a minute.
  'truncate the log of the database': { everyMs: minute, run: ({ db }) => db.truncateLog?.() },
  'seal anew with a new key': { everyMs: minute, run: ({ sealing }) => sealing.resume() },
  'check the clock': { everyMs: minute, run: reportClock },
  'forget ended tokens': { everyMs: minute, run: ({ tokens }) => tokens.sweep() },
  'prune signing keys': prunes(hour, ({ keys }) => keys.prune()),
  'prune codes': prunes(hour, ({ grants }) => grants.pruneCodes()),
  'prune device codes': prunes(10 * minute, ({ devices }) => devices.prune()),
  'prune refresh tokens': prunes(hour, ({ grants }) => grants.pruneTokens()),
  'prune ended grants': prunes(hour, ({ grants }) => grants.pruneEnded()),
  'end grants of deleted apps': { everyMs: minute, run: ({ grants }) => grants.endGrantsOfDeletedApps() },
  'prune deleted apps': prunes(hour, ({ grants }) => grants.pruneApps()),
  'prune failed requests': prunes(hour, ({ failures }) => failures.prune()),
  'prune events': prunes(hour, ({ events }) => events.prune()),
  'disable failing webhooks': { everyMs: minute, run: ({ webhooks }) => webhooks.disableFailing() },
  'prune webhook deliveries': prunes(10 * minute, ({ webhooks }) => webhooks.prune()),
  'prune held tips': prunes(minute, ({ overlays }) => overlays.skipHeld()),
  'prune overlays': prunes(hour, ({ overlays }) => overlays.prune()),
  'prune idempotency keys': prunes(hour, ({ tips }) => tips.pruneKeys()),
  'prune chaos': prunes(hour, ({ chaos }) => chaos.prune()),
  'continue erasing words': { everyMs: minute, run: ({ erasure }) => erasure.resume() },
  'finish removals of sandbox creators': { everyMs: minute, run: ({ sandbox }) => sandbox.finishRemovals() },
  'prune deleted accounts': prunes(minute / 6, ({ leaving }) => leaving.tick()),
  'prune sessions': prunes(hour, ({ sessions }) => sessions.prune()),
  'prune sign-in failures': prunes(hour, ({ throttle }) => throttle.prune()),
  'prune the audit log': prunes(hour, ({ audit }) => audit.prune()),
  'prune challenges': prunes(hour, ({ passkeys }) => passkeys.prune()),
};

/** Tells by log and metric when this node's clock is far from the database's or from the newest record. */
async function reportClock({ events, metrics, log }: Runtime): Promise<void> {
  const { aheadOfDatabaseMs, recordsAheadMs, creators, problems, wasWrongMs } = await events.checkClock();
  metrics.clockOffset.set({ of: 'database' }, (aheadOfDatabaseMs ?? 0) / 1000);
  metrics.clockOffset.set({ of: 'newest_record' }, -recordsAheadMs / 1000);
  for (const problem of problems) log.warn({ creators }, problem);
  if (wasWrongMs !== null) log.warn({ away_seconds: Math.round(wasWrongMs / 1000) }, 'the clocks are right again');
}

/** Returns a function that stops all jobs. */
export function startHousekeeping(runtime: Runtime): () => void {
  const registers = [runtime.metrics.registry];
  const runs = new Counter({
    name: 'namjai_housekeeping_runs_total',
    help: 'Runs of periodic jobs, by result: done, failed, or left out because the clock is far ahead',
    labelNames: ['task', 'result'],
    registers,
  });
  const failuresInARow = new Gauge({
    name: 'namjai_housekeeping_consecutive_failures',
    help: 'How often a periodic job has failed since it last succeeded',
    labelNames: ['task'],
    registers,
  });
  for (const task of Object.keys(jobs)) {
    runs.inc({ task, result: 'failed' }, 0);
    failuresInARow.set({ task }, 0);
  }
  const seconds = new Gauge({
    name: 'namjai_housekeeping_seconds',
    help: 'How long the last run of a periodic job took',
    labelNames: ['task'],
    registers,
  });
  const running = new Set<string>();
  const timers = Object.entries(jobs).map(([name, { everyMs, run, needsClock }]) =>
    setInterval(async () => {
      // No second run starts while one is under way.
      if (running.has(name)) return;
      running.add(name);
      const started = performance.now();
      try {
        if (needsClock && (await runtime.events.isClockAhead())) {
          runs.inc({ task: name, result: 'left_out' });
          return;
        }
        await run(runtime);
        runs.inc({ task: name, result: 'done' });
        failuresInARow.set({ task: name }, 0);
        seconds.set({ task: name }, (performance.now() - started) / 1000);
      } catch (err) {
        runs.inc({ task: name, result: 'failed' });
        failuresInARow.inc({ task: name });
        runtime.log.warn({ err, job: name }, 'housekeeping failed');
      } finally {
        running.delete(name);
      }
    }, everyMs).unref(),
  );
  return () => timers.forEach(clearInterval);
}

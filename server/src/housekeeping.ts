import { Counter, Gauge } from 'prom-client';
import type { Runtime } from './runtime.ts';

const minute = 60_000;
const hour = 60 * minute;

interface Job {
  readonly everyMs: number;
  run(runtime: Runtime): unknown;
}

/**
 * Periodic jobs. A job that fails does not affect the others and runs again at its next time. A node whose clock is far
 * ahead of the database's prunes nothing: what its clock calls old may be of today.
 */
export const jobs: Record<string, Job> = {
  'copy the database': { everyMs: minute / 6, run: ({ copies }) => copies?.tick() },
  // So that what was erased leaves the files within a minute.
  'truncate the log of the database': { everyMs: minute, run: ({ db }) => db.truncateLog?.() },
  'seal anew with a new key': { everyMs: minute, run: ({ sealing }) => sealing.goOn() },
  'check the clock': { everyMs: minute, run: reportClock },
  'forget ended tokens': { everyMs: minute, run: ({ tokens }) => tokens.sweep() },
  'prune signing keys': { everyMs: hour, run: ({ keys }) => keys.prune() },
  'prune codes': { everyMs: hour, run: ({ grants }) => grants.pruneCodes() },
  'prune device codes': { everyMs: 10 * minute, run: ({ devices }) => devices.prune() },
  'prune refresh tokens': { everyMs: hour, run: ({ grants }) => grants.pruneTokens() },
  'prune ended grants': { everyMs: hour, run: ({ grants }) => grants.pruneEnded() },
  'end grants of deleted apps': { everyMs: minute, run: ({ grants }) => grants.endGrantsOfDeletedApps() },
  'prune deleted apps': { everyMs: hour, run: ({ grants }) => grants.pruneApps() },
  'prune failed requests': { everyMs: hour, run: ({ failures }) => failures.prune() },
  'prune events': { everyMs: hour, run: ({ events }) => events.prune() },
  'disable failing webhooks': { everyMs: minute, run: ({ webhooks }) => webhooks.disableFailing() },
  'prune webhook deliveries': { everyMs: 10 * minute, run: ({ webhooks }) => webhooks.prune() },
  'prune held tips': { everyMs: minute, run: ({ overlays }) => overlays.skipHeld() },
  'prune overlays': { everyMs: hour, run: ({ overlays }) => overlays.prune() },
  'prune idempotency keys': { everyMs: hour, run: ({ tips }) => tips.pruneKeys() },
  'prune chaos': { everyMs: hour, run: ({ chaos }) => chaos.prune() },
  'continue erasing words': { everyMs: minute, run: ({ erasure }) => erasure.resume() },
  'finish removals of sandbox creators': { everyMs: minute, run: ({ sandbox }) => sandbox.finishRemovals() },
  'prune deleted accounts': { everyMs: minute / 6, run: ({ leaving }) => leaving.tick() },
  'prune sessions': { everyMs: hour, run: ({ sessions }) => sessions.prune() },
  'prune sign-in failures': { everyMs: hour, run: ({ throttle }) => throttle.prune() },
  'prune the audit log': { everyMs: hour, run: ({ audit }) => audit.prune() },
  'prune challenges': { everyMs: hour, run: ({ passkeys }) => passkeys.prune() },
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
  const timers = Object.entries(jobs).map(([name, { everyMs, run }]) =>
    setInterval(async () => {
      const started = performance.now();
      try {
        if (name.startsWith('prune ') && (await runtime.events.isClockAhead())) {
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
      }
    }, everyMs).unref(),
  );
  return () => timers.forEach(clearInterval);
}

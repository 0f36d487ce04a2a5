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
  'check the clock': { everyMs: minute, run: reportClock },
  'forget ended tokens': { everyMs: minute, run: ({ tokens }) => tokens.sweep() },
  'prune signing keys': { everyMs: hour, run: ({ keys }) => keys.prune() },
  'prune codes': { everyMs: hour, run: ({ grants }) => grants.pruneCodes() },
  'prune device codes': { everyMs: 10 * minute, run: ({ devices }) => devices.prune() },
  'prune refresh tokens': { everyMs: hour, run: ({ grants }) => grants.pruneTokens() },
  'prune ended grants': { everyMs: hour, run: ({ grants }) => grants.pruneEnded() },
  'prune deleted apps': { everyMs: hour, run: ({ grants }) => grants.pruneApps() },
  'prune failed requests': { everyMs: hour, run: ({ failures }) => failures.prune() },
  'prune events': { everyMs: hour, run: ({ events }) => events.prune() },
  'disable failing webhooks': { everyMs: minute, run: ({ webhooks }) => webhooks.disableFailing() },
  'prune webhook deliveries': { everyMs: 10 * minute, run: ({ webhooks }) => webhooks.prune() },
  'prune held tips': { everyMs: minute, run: ({ overlays }) => overlays.skipHeld() },
  'prune overlays': { everyMs: hour, run: ({ overlays }) => overlays.prune() },
  'prune idempotency keys': { everyMs: hour, run: ({ tips }) => tips.pruneKeys() },
  'prune sessions': { everyMs: hour, run: ({ sessions }) => sessions.prune() },
  'prune sign-in failures': { everyMs: hour, run: ({ throttle }) => throttle.prune() },
  'prune challenges': { everyMs: hour, run: ({ passkeys }) => passkeys.prune() },
};

/** Tells by log and metric when this node's clock is far from the database's or from the newest record. */
async function reportClock({ events, metrics, log }: Runtime): Promise<void> {
  const { aheadOfDatabaseMs, recordsAheadMs, creators, problems } = await events.checkClock();
  metrics.clockOffset.set({ of: 'database' }, (aheadOfDatabaseMs ?? 0) / 1000);
  metrics.clockOffset.set({ of: 'newest_record' }, -recordsAheadMs / 1000);
  for (const problem of problems) log.warn({ creators }, problem);
}

/** Returns a function that stops all jobs. */
export function startHousekeeping(runtime: Runtime): () => void {
  const timers = Object.entries(jobs).map(([name, { everyMs, run }]) =>
    setInterval(async () => {
      try {
        if (name.startsWith('prune ') && (await runtime.events.isClockAhead())) return;
        await run(runtime);
      } catch (err) {
        runtime.log.warn({ err, job: name }, 'housekeeping failed');
      }
    }, everyMs).unref(),
  );
  return () => timers.forEach(clearInterval);
}

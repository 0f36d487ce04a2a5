import type { Runtime } from './runtime.ts';

/** What happens by the clock: forgetting what is over. Each job fails alone and is tried again. */
export function startHousekeeping(runtime: Runtime): () => void {
  const { events, tips, tokens, grants, keys, sessions, throttle, passkeys, webhooks, overlays, log } = runtime;
  const jobs: { name: string; everyMs: number; run: () => Promise<unknown> | unknown }[] = [
    { name: 'forget ended tokens', everyMs: 60_000, run: () => tokens.sweep() },
    { name: 'prune signing keys', everyMs: 3_600_000, run: () => keys.prune() },
    { name: 'prune codes', everyMs: 3_600_000, run: () => grants.pruneCodes() },
    { name: 'sweep ended grants', everyMs: 3_600_000, run: () => grants.sweepEnded() },
    { name: 'prune events', everyMs: 3_600_000, run: () => events.prune() },
    { name: 'disable failing webhooks', everyMs: 60_000, run: () => webhooks.disableFailing() },
    { name: 'prune webhook deliveries', everyMs: 3_600_000, run: () => webhooks.prune() },
    { name: 'forget closed overlays', everyMs: 3_600_000, run: () => overlays.prune() },
    { name: 'prune idempotency keys', everyMs: 3_600_000, run: () => tips.pruneKeys() },
    { name: 'prune sessions', everyMs: 3_600_000, run: () => sessions.prune() },
    { name: 'forget wrong sign-ins', everyMs: 3_600_000, run: () => throttle.prune() },
    { name: 'forget unanswered challenges', everyMs: 3_600_000, run: () => passkeys.prune() },
  ];
  const timers = jobs.map(({ name, everyMs, run }) =>
    setInterval(async () => {
      try {
        await run();
      } catch (err) {
        log.warn({ err, job: name }, 'housekeeping failed');
      }
    }, everyMs).unref(),
  );
  return () => timers.forEach(clearInterval);
}

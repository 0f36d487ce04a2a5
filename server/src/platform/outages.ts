/**
 * Logs once that something which this server needs, such as the database, is away, and once that it is back, with the
 * length of the outage. Requests that fail meanwhile are logged as such.
 */
import type { Log } from './log.ts';

export interface Outage {
  /** It is away. Only the first call logs it. */
  away(details: object): void;
  /** It is back. Logs it if it was away. */
  back(): void;
}

/** What the log says. */
interface OutageWords {
  readonly away: string;
  readonly back: string;
}

export function createOutage(log: Pick<Log, 'warn'>, words: OutageWords, now = () => performance.now()): Outage {
  let since: number | undefined;
  return {
    away(details) {
      if (since !== undefined) return;
      since = now();
      log.warn(details, words.away);
    },
    back() {
      if (since === undefined) return;
      const awaySeconds = Math.round((now() - since) / 100) / 10;
      since = undefined;
      log.warn({ away_seconds: awaySeconds }, words.back);
    },
  };
}

export interface WatchedPart {
  readonly outage: Outage;
  /** Rejects while the part is away. */
  readonly probe: () => Promise<void>;
  readonly everyMs?: number;
}

/**
 * Looks after a part once a call of it has failed: if the part itself is away, it is probed until it is back. A call that
 * failed for reasons of its own, such as a locked row, is no outage.
 */
export function watchOutages({ outage, probe, everyMs = 1000 }: WatchedPart) {
  let watching = false;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  async function probeOnce(): Promise<void> {
    try {
      await probe();
      watching = false;
      if (!stopped) outage.back();
    } catch (err) {
      if (stopped) return;
      outage.away({ err, ...('reason' in Object(err) ? { reason: Object(err).reason } : {}) });
      timer = setTimeout(probeOnce, everyMs).unref();
    }
  }

  return {
    /** A call has failed. */
    suspect(): void {
      if (watching || stopped) return;
      watching = true;
      void probeOnce();
    },
    stop(): void {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

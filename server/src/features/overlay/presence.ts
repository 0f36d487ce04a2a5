import { randomUUID } from 'node:crypto';
import type { Platform } from '../../platform/platform.ts';
import type { Streams } from '../sockets/index.ts';
import * as repo from './repo.ts';

export interface PresenceParts extends Pick<Platform, 'db' | 'clock' | 'log'> {
  readonly streams: Streams;
}

export type Presence = ReturnType<typeof createPresence>;

const reportIntervalMs = 10_000;
/** A count that was not reported again for this long is ignored: its node has died. */
const staleMs = 30_000;

/**
 * Counts the open overlays of a creator over all nodes. On PostgreSQL each node writes its counts to the database, and
 * repeats them while they are not zero.
 */
export function createPresence({ db, streams, clock, log }: PresenceParts) {
  const node = randomUUID();
  const reported = new Set<string>();
  const reporting = new Map<string, 'once' | 'again'>();
  let timer: NodeJS.Timeout | undefined;
  const localCount = (creatorId: string): number => streams.connected(creatorId, 'overlay');

  /** One write at a time for a creator. The next write reports what has changed meanwhile. */
  async function report(creatorId: string): Promise<void> {
    if (reporting.has(creatorId)) return void reporting.set(creatorId, 'again');
    reporting.set(creatorId, 'once');
    try {
      const count = localCount(creatorId);
      if (count === 0) reported.delete(creatorId);
      await db.write(repo.writes.setPresence, creatorId, node, count, clock());
    } catch (err) {
      log.warn({ err }, 'the count of open overlays was not written; it will be tried again');
    }
    const again = reporting.get(creatorId) === 'again';
    reporting.delete(creatorId);
    if (again) await report(creatorId);
  }

  return {
    /** An overlay of this creator was opened or closed. */
    changed(creatorId: string): void {
      if (db.engine === 'sqlite') return;
      reported.add(creatorId);
      void report(creatorId);
      timer ??= setInterval(() => {
        for (const each of reported) void report(each);
        if (reported.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      }, reportIntervalMs).unref();
    },

    connected: async (creatorId: string): Promise<number> =>
      localCount(creatorId) +
      (db.engine === 'sqlite' ? 0 : await repo.connectedElsewhere(db, creatorId, node, clock() - staleMs)),
  };
}

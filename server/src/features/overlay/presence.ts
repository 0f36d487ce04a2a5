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
  const localOpen = (creatorId: string): repo.OpenOverlays => {
    const outdated = streams.connected(creatorId, 'old_overlay');
    return { connected: streams.connected(creatorId, 'overlay') + outdated, outdated };
  };

  /** Over all nodes. */
  async function open(creatorId: string): Promise<repo.OpenOverlays> {
    const here = localOpen(creatorId);
    if (db.engine === 'sqlite') return here;
    const there = await repo.openElsewhere(db, creatorId, node, clock() - staleMs);
    return { connected: here.connected + there.connected, outdated: here.outdated + there.outdated };
  }

  /** One write at a time for a creator. The next write reports what has changed meanwhile. */
  async function report(creatorId: string): Promise<void> {
    if (reporting.has(creatorId)) return void reporting.set(creatorId, 'again');
    reporting.set(creatorId, 'once');
    try {
      const here = localOpen(creatorId);
      if (here.connected === 0) reported.delete(creatorId);
      await db.write(repo.writes.setPresence, creatorId, node, here, clock());
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

    open,
    connected: async (creatorId: string): Promise<number> => (await open(creatorId)).connected,
  };
}

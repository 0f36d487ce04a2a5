import { randomUUID } from 'node:crypto';
import type { Platform } from '../../platform/platform.ts';
import type { Streams } from '../sockets/index.ts';
import * as repo from './repo.ts';

export interface PresenceParts extends Pick<Platform, 'db' | 'clock' | 'log'> {
  readonly streams: Streams;
}

export type Presence = ReturnType<typeof createPresence>;

const everyMs = 10_000;
/** A node that has not said so again for this long is gone. */
const staleMs = 30_000;

/**
 * How many overlays of a creator are open, over all nodes. One process just counts; nodes each say in the store how
 * many they hold, again and again while they hold any.
 */
export function createPresence({ db, streams, clock, log }: PresenceParts) {
  const node = randomUUID();
  const held = new Set<string>();
  const saying = new Map<string, 'once' | 'again'>();
  let timer: NodeJS.Timeout | undefined;
  const here = (creatorId: string): number => streams.connected(creatorId, 'overlay');

  /** One write at a time for a creator: pages that come and go quickly are told of by the next one. */
  async function say(creatorId: string): Promise<void> {
    if (saying.has(creatorId)) return void saying.set(creatorId, 'again');
    saying.set(creatorId, 'once');
    try {
      const count = here(creatorId);
      if (count === 0) held.delete(creatorId);
      await db.write(repo.writes.setPresence, creatorId, node, count, clock());
    } catch (err) {
      log.warn({ err }, 'open overlays could not be noted; they will be again');
    }
    const again = saying.get(creatorId) === 'again';
    saying.delete(creatorId);
    if (again) await say(creatorId);
  }

  return {
    /** An overlay of this creator came or went. */
    changed(creatorId: string): void {
      if (db.engine === 'sqlite') return;
      held.add(creatorId);
      void say(creatorId);
      timer ??= setInterval(() => {
        for (const each of held) void say(each);
        if (held.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      }, everyMs).unref();
    },

    connected: async (creatorId: string): Promise<number> =>
      here(creatorId) +
      (db.engine === 'sqlite' ? 0 : await repo.connectedElsewhere(db, creatorId, node, clock() - staleMs)),
  };
}

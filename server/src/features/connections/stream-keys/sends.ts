/**
 * Which events programs with a key were sent, for traces. They are written a moment later, many at once, so that no tip
 * waits for it. A crash forgets those of the last two seconds.
 */
import type { Platform } from '../../../platform/platform.ts';
import type { ProgramFacts } from '../../trace/index.ts';
import type { OpenKeys } from './open-keys.ts';
import * as keys from './repo.ts';
import * as repo from './sends-repo.ts';
import type { FoundKey } from './service.ts';

export interface KeySendsParts extends Pick<Platform, 'db' | 'clock' | 'log'> {
  readonly openKeys: Pick<OpenKeys, 'connected'>;
}

export type KeySends = ReturnType<typeof createKeySends>;

const flushMs = 2000;
/** While the database cannot be written no more than so many wait. */
const maxWaiting = 5000;
/** Rows of one write. */
const batchSize = 500;

export function createKeySends({ db, clock, log, openKeys }: KeySendsParts) {
  let waiting: repo.SendRow[] = [];
  let timer: NodeJS.Timeout | undefined;
  let flushing: Promise<void> = Promise.resolve();

  async function write(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    for (let batch = waiting.slice(0, batchSize); batch.length > 0; batch = waiting.slice(0, batchSize)) {
      await db.write(repo.writes.saveSends, batch);
      const written = new Set(batch);
      waiting = waiting.filter((row) => !written.has(row));
    }
  }

  function flush(): Promise<void> {
    flushing = flushing.then(write).catch((err) => {
      log.warn({ err }, 'what programs were sent was not written');
      if (waiting.length > 0) schedule();
    });
    return flushing;
  }

  function schedule(): void {
    timer ??= setTimeout(() => void flush(), flushMs).unref();
  }

  return {
    flush,

    /** A program with this key was sent an event. */
    sent({ creatorId, id }: FoundKey, sequence: number): void {
      waiting.push({ creator_id: creatorId, key_id: id, sequence, sent_at: clock() });
      if (waiting.length > maxWaiting) waiting = waiting.slice(-maxWaiting);
      schedule();
    },

    /** The keys of a creator, with when each was sent these events. */
    async facts(creatorId: string, sequences: readonly number[]): Promise<ProgramFacts[]> {
      const rows = await keys.keysOf(db, creatorId);
      if (rows.length === 0) return [];
      if (waiting.some((row) => row.creator_id === creatorId)) await flush();
      const [connected, sends] = await Promise.all([
        openKeys.connected(creatorId),
        sequences.length === 0 ? [] : repo.sendsBetween(db, creatorId, Math.min(...sequences), Math.max(...sequences)),
      ]);
      const wanted = new Set(sequences);
      return rows.map(({ id, label, minimum_minor, created_at, last_used_at }) => ({
        id,
        label,
        minimumMinor: minimum_minor,
        createdAt: created_at,
        connected: connected.has(id),
        lastUsedAt: last_used_at,
        sends: new Map(
          sends
            .filter(({ key_id, sequence }) => key_id === id && wanted.has(sequence))
            .map(({ sequence, sent_at }) => [sequence, sent_at]),
        ),
        keptEvents: repo.keptEvents,
      }));
    },
  };
}

import type { Platform } from '../../platform/platform.ts';
import { createClockCheck } from './clock.ts';
import * as repo from './repo.ts';
import type { EventType } from './types.ts';

export interface NewEvent {
  readonly creatorId: string;
  readonly type: EventType;
  readonly test?: boolean;
  readonly replay?: boolean;
  /** Set for a new tip: by how much the totals grow. */
  readonly amountMinor?: number;
}

export type EventLog = ReturnType<typeof createEventLog>;

const keptMs = 30 * 86_400_000;
const pruneBatch = 500;
const recountBatch = 200;

/** Hints about a creator's log go to this topic; the message is the newest sequence. */
export const eventsTopic = (creatorId: string): string => `events:${creatorId}`;

/** Hints about anybody's log go to this one as well; the message is the creator's id. */
export const anyEventTopic = 'events';

/**
 * The event log: the truth that sockets, the overlay and webhooks read.
 *
 * - A change and its event commit together: a write of the change's own feature calls `appendEvent`.
 * - `sequence` counts up by one per creator, without gaps, in commit order.
 * - An event is stored once, as the bytes that everyone gets.
 */
export function createEventLog({
  db,
  hub,
  clock,
  newId,
  zone,
}: Pick<Platform, 'db' | 'hub' | 'clock' | 'newId' | 'zone'>) {
  /** Recomputes every creator's month totals in the platform's present time zone. */
  async function recountMonths(): Promise<void> {
    for (let after = ''; ; ) {
      const heads = await repo.headsAfter(db, after, recountBatch);
      const last = heads.at(-1);
      if (!last) return;
      const months = heads.map((head) => ({ creatorId: head.creator_id, ...zone.month(head.last_at) }));
      await db.write(repo.writes.recountMonths, months);
      after = last.creator_id;
    }
  }

  /** All of an event but its position, which `appendEvent` gives it. */
  function prepare({ creatorId, type, test = false, replay = false, amountMinor }: NewEvent): repo.PreparedEvent {
    const now = clock();
    const month = zone.month(now).key;
    return { creatorId, id: newId('evt'), type, test, replay, now, month, amountMinor: amountMinor ?? null };
  }

  /** Called after the commit. A lost hint costs latency, never an event. */
  function announce(creatorId: string, sequence: number): void {
    hub.publish(eventsTopic(creatorId), String(sequence));
    hub.publish(anyEventTopic, creatorId);
  }

  return {
    prepare,
    announce,
    ...createClockCheck({ db, clock, zone }),

    /** Appends an event that comes with no other change. */
    async append(event: NewEvent, data: object): Promise<void> {
      const { sequence } = await db.write(repo.writes.appendAlone, prepare(event), JSON.stringify(data));
      announce(event.creatorId, sequence);
    },

    after: (creatorId: string, after: number, limit: number) => repo.eventsAfter(db, creatorId, after, limit),
    oldest: (creatorId: string) => repo.oldestSequence(db, creatorId),
    head: (creatorId: string) => repo.readHead(db, creatorId),

    /** Deletes events older than 30 days, in batches that never hold the database for long. */
    async prune(): Promise<number> {
      for (let total = 0; ; ) {
        const deleted = await db.write(repo.writes.deleteEventsBefore, clock() - keptMs, pruneBatch);
        if (deleted === 0) return total;
        total += deleted;
      }
    },

    /** Month totals are kept in the platform's time zone; when that setting changes they are counted anew. */
    async applyTimeZone(): Promise<void> {
      const counted = await repo.countedTimeZone(db);
      if (counted === zone.name) return;
      if (counted !== undefined) await recountMonths();
      await db.write(repo.writes.setCountedTimeZone, zone.name);
    },
  };
}

import type { Clock } from '../../platform/clock.ts';
import type { Database, Tx, Value } from '../../platform/db/database.ts';
import type { Hub } from '../../platform/hub/hub.ts';
import type { NewId } from '../../platform/ids.ts';
import type { Zone } from '../../platform/zone.ts';
import { append, eventBody, type Place, type PreparedEvent } from './append.ts';
import * as repo from './repo.ts';
import type { EventType } from './types.ts';

/**
 * The event log: the truth that sockets, the overlay and webhooks read.
 *
 * - A change and its event commit together: `append` is called inside the change's own `write`.
 * - `sequence` counts up by one per creator, without gaps, in commit order.
 * - An event is stored once, as the bytes that everyone gets.
 */
export interface NewEvent {
  readonly creatorId: string;
  readonly type: EventType;
  readonly test?: boolean;
  readonly replay?: boolean;
  /** Set for a tip: what the totals grow by. */
  readonly amountMinor?: number;
  /** The event's data as JSON, once its place in the history is known. */
  readonly data: (place: Place) => string;
}

export interface EventLogParts {
  readonly db: Database;
  readonly hub: Hub;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly zone: Zone;
}

export type EventLog = ReturnType<typeof createEventLog>;

const keptMs = 30 * 86_400_000;

/** Hints about a creator's log go to this topic; the message is the newest sequence. */
export const eventsTopic = (creatorId: string): string => `events:${creatorId}`;

/** Hints about anybody's log go to this one as well; the message is the creator's id. */
export const anyEventTopic = 'events';

/** Where a place is left open in a body: JSON text never holds this character. */
const gap = '\0';

export function createEventLog({ db, hub, clock, newId, zone }: EventLogParts) {
  /** All of an event but its place in the history, which `append` gives it. */
  function prepare({
    creatorId,
    type,
    test = false,
    replay = false,
    amountMinor,
  }: Omit<NewEvent, 'data'>): PreparedEvent {
    const now = clock();
    return {
      creatorId,
      id: newId('evt'),
      type,
      test,
      replay,
      now,
      month: zone.month(now).key,
      amountMinor: amountMinor ?? 0,
      tips: amountMinor === undefined ? 0 : 1,
    };
  }

  return {
    prepare,
    append: (tx: Tx, event: NewEvent): Promise<Place> => append(tx, prepare(event), event.data),

    /**
     * The parameters of `appendSql`, for a tip or the like whose data ends with the event's own time: `data` is what
     * stands before and after that.
     */
    appendParams(event: Omit<NewEvent, 'data'>, data: readonly [string, string]): Value[] {
      const prepared = prepare(event);
      const { creatorId, now, month, amountMinor, tips, id, type } = prepared;
      const body = eventBody(prepared, gap, gap, data.join(gap));
      return [creatorId, now, month, amountMinor, tips, id, type, ...body.split(gap)];
    },

    /** Called after the commit. A lost hint costs latency, never an event. */
    announce(creatorId: string, sequence: number): void {
      hub.publish(eventsTopic(creatorId), String(sequence));
      hub.publish(anyEventTopic, creatorId);
    },

    start: (tx: Tx, creatorId: string) => repo.insertHead(tx, creatorId),
    after: (creatorId: string, after: number, limit: number) => repo.eventsAfter(db, creatorId, after, limit),
    oldest: (creatorId: string) => repo.oldestSequence(db, creatorId),
    head: (creatorId: string) => repo.readHead(db, creatorId),

    /** Drops what is older than 30 days, in small bites that never hold the database for long. */
    async prune(): Promise<number> {
      let removed = 0;
      for (let bite = -1; bite !== 0; removed += bite)
        bite = await db.write((tx) => repo.deleteEventsBefore(tx, clock() - keptMs, 500));
      return removed;
    },

    /** Recomputes every creator's month totals in the platform's present time zone. */
    async recountMonths(): Promise<void> {
      for (let last = ''; ; ) {
        const heads = await repo.headsAfter(db, last, 200);
        if (heads.length === 0) return;
        await db.write(async (tx) => {
          for (const head of heads) await repo.recountMonth(tx, head.creator_id, zone.month(head.last_at));
        });
        last = heads.at(-1)!.creator_id;
      }
    },
  };
}

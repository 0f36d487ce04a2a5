import { timeOfId } from '../../platform/ids.ts';
import type { Platform } from '../../platform/platform.ts';
import { createClockCheck, createClockRepair } from './clock.ts';
import type { ScreenedAlert } from './projection.ts';
import * as repo from './repo.ts';
import type { EventData, EventType } from './types.ts';

export interface NewEvent {
  readonly creatorId: string;
  readonly type: EventType;
  readonly test?: boolean;
  readonly replay?: boolean;
  /** Set for a new tip: added to the totals. */
  readonly amountMinor?: number;
  /** Of a test alert: what screens show, where that is not what was sent. */
  readonly screened?: ScreenedAlert | null;
  /** The tip or test alert that the event is about, unless the event is the first about it. */
  readonly subjectId?: string | undefined;
  readonly trace?: repo.EventTrace | undefined;
}

export type EventLog = ReturnType<typeof createEventLog>;

const retentionMs = 30 * 86_400_000;
const pruneBatch = 500;
/** How many events of all creators are searched for the one with an id, from the time of the id on. */
const searchedById = 2_000;
/** An id may be made a little after the time of its event was read, and longer on a busy machine. */
const idAgeMs = 250;
/** Few: each sums a month of tips, and other writes wait meanwhile. */
const recountBatch = 20;

/** The topic of hints about one creator's log. The message is the newest sequence. */
export const eventsTopic = (creatorId: string): string => `events:${creatorId}`;

/** The topic of hints about all logs. The message is the creator's id. */
export const anyEventTopic = 'events';

/**
 * The event log, which sockets, overlays and webhooks read.
 *
 * - A change and its event commit together: the write that makes the change calls `appendEvent`.
 * - `sequence` counts up by one per creator, without gaps, in commit order.
 * - An event is stored once, as the text that apps are sent. Screens get a projection of it.
 */
export function createEventLog({
  db,
  origins,
  hub,
  clock,
  newId,
  zone,
}: Pick<Platform, 'db' | 'origins' | 'hub' | 'clock' | 'newId' | 'zone'>) {
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

  /** An event without its position, which `appendEvent` assigns. */
  function prepare({ creatorId, type, test = false, replay = false, ...rest }: NewEvent): repo.PreparedEvent {
    const now = clock();
    const month = zone.month(now).key;
    const amountMinor = rest.amountMinor ?? null;
    const screened = rest.screened ? JSON.stringify(rest.screened) : null;
    const event = { creatorId, id: newId('evt'), type, test, replay, now, month, amountMinor, screened };
    const subject = rest.subjectId === undefined ? undefined : { subjectId: rest.subjectId };
    return { ...event, ...subject, ...(rest.trace ? { trace: rest.trace } : undefined) };
  }

  /** To be called after the commit. A lost hint delays an event and never loses it. */
  function announce(creatorId: string, sequence: number): void {
    hub.publish(eventsTopic(creatorId), String(sequence));
    hub.publish(anyEventTopic, creatorId);
  }

  return {
    prepare,
    announce,
    ...createClockCheck({ db, clock }),
    ...createClockRepair({ db, origins, clock, zone }),

    /** Appends an event without another change. */
    async append<T extends EventType>(event: NewEvent & { readonly type: T }, data: EventData<T>): Promise<void> {
      const { sequence } = await db.write(repo.writes.appendAlone, prepare(event), JSON.stringify(data));
      announce(event.creatorId, sequence);
    },

    after: (creatorId: string, after: number, limit: number) => repo.eventsAfter(db, creatorId, after, limit),
    /** As `after`, for those who pass bodies on. */
    rawAfter: (creatorId: string, after: number, limit: number) => repo.rawEventsAfter(db, creatorId, after, limit),
    about: (creatorId: string, subjectId: string, limit: number) => repo.eventsAbout(db, creatorId, subjectId, limit),
    byId: (id: string) => repo.eventById(db, id, timeOfId(id) - idAgeMs, searchedById),
    oldest: (creatorId: string) => repo.oldestSequence(db, creatorId),
    head: (creatorId: string) => repo.readHead(db, creatorId),
    lastBefore: (creatorId: string, before: number) => repo.lastSequenceBefore(db, creatorId, before),

    /** Deletes events older than 30 days, in short writes. Returns how many. */
    async prune(): Promise<number> {
      for (let total = 0; ; ) {
        const deleted = await db.write(repo.writes.deleteEventsBefore, clock() - retentionMs, pruneBatch);
        if (deleted === 0) return total;
        total += deleted;
      }
    },

    /**
     * Month totals are in the platform's time zone: recomputes them if that setting has changed. Only the server does this,
     * at its start: the writes are longer than those of the command line may be.
     */
    async applyTimeZone(): Promise<void> {
      if ((await repo.countedTimeZone(db)) === zone.name) return;
      await recountMonths();
      await db.write(repo.writes.setCountedTimeZone, zone.name);
    },
  };
}

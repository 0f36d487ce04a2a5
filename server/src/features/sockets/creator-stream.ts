/**
 * One creator's events, for all connections of this node. Invariants:
 *
 * - Every subscriber gets each event after its start once, in order, without a gap: events are sent to it in order, and
 *   it skips those up to its cursor.
 * - One reader serves all live subscribers. `position` is the last event that it has sent; it never goes back.
 * - A new subscriber reads the log by itself, a page at a time and no faster than its client takes them, until it has
 *   reached both the newest event of its start and `position`. In the same step it becomes live. So no events are
 *   buffered for anyone, and a hint that came while it was reading is not lost: that step wakes the reader.
 * - Of all new subscribers of this node a few read at once, in rotation, and all of them together use at most half of
 *   the time, so that many who read a long log again and again do not delay everything else.
 * - New subscribers that need the same page while it is being read share it, and its encoding.
 * - Live subscribers get what was read a part of them at a time; the next events are read after the last part.
 * - A failed read loses nothing: the next hint, or the sweep, reads from the same position.
 */
import { setImmediate as nextIteration } from 'node:timers/promises';
import type { WorkQueue } from '../../platform/work-queue.ts';
import type { RawEvent } from '../events/index.ts';
import type { Welcome } from './connection.ts';
import { EncodedEvents } from './encoded-events.ts';
import type { Subscriber } from './subscriber.ts';

const pageSize = 100;
/** To how many live subscribers events are sent before others are served: to a thousand takes 40 ms. */
const sentAtOnce = 100;
/** How many events a new subscriber reads at once. The longest have less than 4.5 KiB, so a page has at most 72. */
const catchUpPageSize = 16;

/** The reading part of the event log. */
interface EventReader {
  head(creatorId: string): Promise<{ readonly sequence: number } | undefined>;
  oldest(creatorId: string): Promise<number | null>;
  rawAfter(creatorId: string, after: number, limit: number): Promise<readonly RawEvent[]>;
}

export interface CreatorStreamParts {
  readonly creatorId: string;
  readonly events: EventReader;
  /** Where new subscribers wait to read the next page of the log. */
  readonly catchUps: Pick<WorkQueue, 'runAdmitted'>;
  /** Awaited before a page is read for a new subscriber, and before it is sent. */
  readonly pause: () => Promise<void>;
  readonly onSent: (events: number) => void;
  readonly onError: (error: unknown) => void;
}

export class CreatorStream {
  /** All subscribers, also those that are still catching up. */
  readonly subscribers = new Set<Subscriber>();
  readonly #live = new Set<Subscriber>();
  readonly #parts: CreatorStreamParts;
  /** The pages that are being read for new subscribers, by the sequence before them. */
  readonly #pages = new Map<number, Promise<EncodedEvents>>();
  #position = 0;
  #reading = false;
  #readAgain = false;

  constructor(parts: CreatorStreamParts) {
    this.#parts = parts;
  }

  remove(subscriber: Subscriber): void {
    this.subscribers.delete(subscriber);
    this.#live.delete(subscriber);
  }

  /** Welcomes the subscriber, sends what it missed, then makes it live. Resolves after the welcome. */
  async start(subscriber: Subscriber, after: number | undefined): Promise<void> {
    const { creatorId, events } = this.#parts;
    const [head, oldest] = await Promise.all([events.head(creatorId), events.oldest(creatorId)]);
    if (subscriber.closed) return;
    const welcome = welcomeFor(after, head?.sequence ?? 0, oldest);
    subscriber.cursor = welcome.sequence - welcome.replayed;
    subscriber.startedAfter = subscriber.cursor;
    subscriber.connection.welcome(welcome);
    subscriber.options.onSent?.(subscriber, 1);
    this.#catchUp(subscriber, welcome.sequence).catch((error) => {
      this.#parts.onError(error);
      subscriber.close('restart');
    });
  }

  async #catchUp(subscriber: Subscriber, newest: number): Promise<void> {
    const { catchUps } = this.#parts;
    while (!subscriber.closed && subscriber.cursor < Math.max(newest, this.#position)) {
      await catchUps.runAdmitted(subscriber.options.slots.key, () => this.#sendPage(subscriber));
      await subscriber.connection.drained();
    }
    if (subscriber.closed) return;
    if (this.#live.size === 0) this.#position = subscriber.cursor;
    this.#live.add(subscriber);
    this.#wakeReader();
  }

  async #sendPage(subscriber: Subscriber): Promise<void> {
    if (subscriber.closed) return;
    const page = await this.#pageAfter(subscriber.cursor);
    if (page.raw.length > 0) this.#send(page, [subscriber]);
    else subscriber.close('restart'); // removed by age in the meantime
  }

  #pageAfter(sequence: number): Promise<EncodedEvents> {
    const known = this.#pages.get(sequence);
    if (known) return known;
    const page = this.#readPage(sequence).finally(() => this.#pages.delete(sequence));
    this.#pages.set(sequence, page);
    return page;
  }

  async #readPage(after: number): Promise<EncodedEvents> {
    const { creatorId, events, pause } = this.#parts;
    await pause();
    const page = await events.rawAfter(creatorId, after, catchUpPageSize);
    await pause();
    return new EncodedEvents(page);
  }

  /** There may be new events; `sequence` is the newest known one. */
  wake(sequence = Number.POSITIVE_INFINITY): void {
    if (this.#live.size > 0 && sequence > this.#position) this.#wakeReader();
  }

  #wakeReader(): void {
    this.#readAgain = true;
    if (!this.#reading) this.#read().catch(this.#parts.onError);
  }

  async #read(): Promise<void> {
    const { creatorId, events } = this.#parts;
    this.#reading = true;
    try {
      while (this.#readAgain && this.#live.size > 0) {
        this.#readAgain = false;
        const page = await events.rawAfter(creatorId, this.#position, pageSize);
        const unsent = page.filter(({ sequence }) => sequence > this.#position);
        if (unsent.length === 0) continue;
        const encoded = new EncodedEvents(unsent);
        this.#position = encoded.last;
        await this.#sendToLive(encoded);
        if (page.length < pageSize) continue;
        this.#readAgain = true;
        await nextIteration();
      }
    } finally {
      this.#reading = false;
    }
  }

  /** Whoever becomes live in the meantime has read these events by itself. */
  async #sendToLive(events: EncodedEvents): Promise<void> {
    const subscribers = [...this.#live];
    for (let from = 0; from < subscribers.length; from += sentAtOnce) {
      if (from > 0) await nextIteration();
      this.#send(events, subscribers.slice(from, from + sentAtOnce));
    }
  }

  #send(events: EncodedEvents, subscribers: Iterable<Subscriber>): void {
    let sent = 0;
    for (const subscriber of subscribers) {
      const { cursor } = subscriber;
      subscriber.send(events);
      sent += subscriber.cursor - cursor;
    }
    this.#parts.onSent(sent);
  }
}

/** The welcome of a client that has everything up to `after`. */
function welcomeFor(after: number | undefined, sequence: number, oldest: number | null): Welcome {
  if (after === undefined) return { sequence, oldest, resumed: null, replayed: 0 };
  const kept = after === sequence || (after < sequence && oldest !== null && oldest <= after + 1);
  return { sequence, oldest, resumed: kept, replayed: kept ? sequence - after : 0 };
}

import type { RawEvent, StoredEvent } from '../events/index.ts';
import type { CloseReason } from './close-reasons.ts';
import type { Connection } from './connection.ts';
import { EncodedEvents } from './encoded-events.ts';

/** Whether somebody may read a stream. A refusal can have words of its own for the close. */
export type Permitted = boolean | { readonly closeText: string };

/** An old overlay is a page from before the present protocol; a program is connected by a stream key. */
export const subscriberKinds = ['socket', 'stream', 'overlay', 'old_overlay', 'widget', 'program'] as const;

export interface SubscriberOptions {
  readonly creatorId: string;
  readonly kind: (typeof subscriberKinds)[number];
  /** The app, of a connection that an app has opened. */
  readonly clientId?: string;
  /** Connections with the same key share `max` connection slots. */
  readonly slots: { readonly key: string; readonly max: number };
  /**
   * Whether the subscriber may read the stream. Checked at the start, when access may have changed, and every ten
   * seconds; one check serves all subscribers with the same key.
   */
  readonly permission: { readonly key: string; readonly isAllowed: () => Permitted | Promise<Permitted> };
  /** Called after the welcome, and after each write with the number of its events. */
  readonly onSent?: (subscriber: Subscriber, frames: number) => void;
  /** Selects events; without it the subscriber gets all. */
  readonly wants?: (type: string, sequence: number) => boolean;
  /** What is sent in place of a stored event; `null`: nothing. */
  readonly project?: (event: StoredEvent) => StoredEvent | null;
}

/** The client is too slow when more than this waits for it. */
const maxBufferedBytes = 1024 * 1024;

/** One connection that is subscribed to a creator's events. */
export class Subscriber {
  readonly options: SubscriberOptions;
  readonly connection: Connection;
  readonly #onLeave: (subscriber: Subscriber, reason: CloseReason | undefined) => void;
  /** The sequence up to which the subscriber needs nothing more. */
  cursor = 0;
  /** The sequence after which it began. */
  startedAfter = 0;
  closed = false;
  holdsSlot = false;
  /** What the close says in place of its usual words. */
  closeText: string | undefined;
  #idleTicks = 0;
  #stalledTicks = 0;
  #flushed = 0;

  constructor(
    options: SubscriberOptions,
    connection: Connection,
    onLeave: (subscriber: Subscriber, reason: CloseReason | undefined) => void,
  ) {
    this.options = options;
    this.connection = connection;
    this.#onLeave = onLeave;
  }

  /** Remembers the words of a refusal. Returns whether the subscriber may read the stream. */
  permit(permitted: Permitted): boolean {
    if (typeof permitted === 'object') this.closeText = permitted.closeText;
    return permitted === true;
  }

  /** Sends those of the events that come after the cursor. */
  send(events: EncodedEvents): void {
    if (this.closed || events.last <= this.cursor) return;
    // Only events removed by age can be missing. A new connection learns so from its welcome.
    if (events.first > this.cursor + 1) return void this.close('restart');
    const { wants, project } = this.options;
    const all = events.first === this.cursor + 1 && !wants && !project;
    const unsent = all ? events : this.#select(events);
    this.cursor = events.last;
    if (unsent.raw.length === 0) return;
    this.connection.send(unsent);
    this.options.onSent?.(this, unsent.raw.length);
    this.#idleTicks = 0;
    this.#closeIfOverfull();
  }

  #select(events: EncodedEvents): EncodedEvents {
    const { wants, project } = this.options;
    const wanted = ({ sequence, type }: RawEvent) => sequence > this.cursor && (!wants || wants(type, sequence));
    if (!project) return new EncodedEvents(events.raw.filter(wanted));
    return new EncodedEvents(events.events.filter(wanted).flatMap((event) => project(event) ?? []));
  }

  /** Sends a keepalive after so many ticks without an event, and closes after so many without progress. */
  tick(keepaliveTicks: number, stalledTicks: number): void {
    this.#idleTicks += 1;
    if (this.#idleTicks >= keepaliveTicks) {
      this.#idleTicks = 0;
      this.connection.keepalive();
    }
    this.#countStalled();
    if (this.#stalledTicks >= stalledTicks) this.close('too_slow');
    this.#closeIfOverfull();
  }

  /** Counts consecutive ticks at which bytes were waiting and none had been taken since the tick before. */
  #countStalled(): void {
    const { buffered, flushed } = this.connection;
    const stalled = buffered > 0 && flushed === this.#flushed;
    this.#stalledTicks = stalled ? this.#stalledTicks + 1 : 0;
    this.#flushed = flushed;
  }

  close(reason: CloseReason): void {
    if (this.closed) return;
    this.leave(reason);
    this.connection.close(reason, this.closeText);
  }

  /** Ends the subscription of a connection that is closed or refused; without a reason the client closed it. */
  leave(reason?: CloseReason): void {
    if (this.closed) return;
    this.closed = true;
    this.#onLeave(this, reason);
  }

  #closeIfOverfull(): void {
    if (this.connection.buffered > maxBufferedBytes) this.close('too_slow');
  }
}

import { Batch } from './batch.ts';
import type { CloseReason } from './close-reasons.ts';

/** How one kind of connection writes to its peer. */
export interface Wire {
  welcome(start: Start): void;
  send(batch: Batch): void;
  keepalive(): void;
  /** Tells the peer to open a new connection; `false` where it finds out only by the end of this one. */
  reconnect(afterMs: number): boolean;
  end(reason: CloseReason): void;
  /** Resolves once the peer has taken most of what was written, or is gone. */
  drained(): Promise<void>;
  /** Bytes written that the system has not taken yet, and those that it has. */
  readonly buffered: number;
  readonly flushed: number;
}

/** Where a connection begins, in the words of the welcome frame. */
export interface Start {
  readonly sequence: number;
  readonly oldest: number | null;
  readonly resumed: boolean | null;
  readonly replayed: number;
}

export interface MemberOptions {
  readonly creatorId: string;
  readonly kind: 'socket' | 'stream' | 'overlay';
  /** Connections that share this key are counted together, and `most` of them are let in. */
  readonly slot: { readonly key: string; readonly most: number };
  /** May it go on? Asked at the start, when access may have changed, and every ten seconds; once for all of a key. */
  readonly pass: { readonly key: string; readonly allowed: () => boolean | Promise<boolean> };
  /** Types of events it wants; all when absent. */
  readonly wants?: (type: string) => boolean;
}

export interface Opening {
  readonly member: Member;
  /** Nothing once it is welcomed, or why it is not. Rejects when the storage is away. */
  readonly opened: Promise<CloseReason | undefined>;
}

/** So much unread makes a reader too slow. */
const mostBuffered = 1024 * 1024;

/** One connection in a creator's feed. `cursor`: the last event that was written to it or that it did not miss. */
export class Member {
  readonly options: MemberOptions;
  readonly wire: Wire;
  readonly #onLeave: (member: Member, reason: CloseReason | undefined) => void;
  cursor = 0;
  gone = false;
  /** It takes one of the places of its slot. */
  counted = false;
  #idleTicks = 0;
  #stuckTicks = 0;
  #flushed = 0;

  constructor(options: MemberOptions, wire: Wire, onLeave: (member: Member, reason: CloseReason | undefined) => void) {
    this.options = options;
    this.wire = wire;
    this.#onLeave = onLeave;
  }

  /** Writes what it has not got yet. */
  offer(batch: Batch): void {
    if (this.gone || batch.last <= this.cursor) return;
    // Only events removed by age can be missing: a new connection will be told so.
    if (batch.first > this.cursor + 1) return void this.end('restart');
    const news = batch.first === this.cursor + 1 && !this.options.wants ? batch : this.#newsOf(batch);
    this.cursor = batch.last;
    if (news.events.length === 0) return;
    this.wire.send(news);
    this.#idleTicks = 0;
    this.#endIfFull();
  }

  #newsOf(batch: Batch): Batch {
    const { wants } = this.options;
    return new Batch(batch.events.filter(({ sequence, type }) => sequence > this.cursor && (!wants || wants(type))));
  }

  /** Called at every tick: a keepalive when nothing was sent for so many, the end when bytes wait for so many. */
  tick(keepaliveTicks: number, stuckTicks: number): void {
    this.#idleTicks += 1;
    if (this.#idleTicks >= keepaliveTicks) {
      this.#idleTicks = 0;
      this.wire.keepalive();
    }
    this.#countStuck();
    if (this.#stuckTicks >= stuckTicks) this.end('too_slow');
    this.#endIfFull();
  }

  /** Ticks in a row that saw bytes wait of which not one was taken. What was written just now has not waited yet. */
  #countStuck(): void {
    const { buffered, flushed } = this.wire;
    const stuck = buffered > 0 && flushed === this.#flushed;
    this.#stuckTicks = stuck ? this.#stuckTicks + 1 : 0;
    this.#flushed = flushed;
  }

  end(reason: CloseReason): void {
    if (this.gone) return;
    this.leave(reason);
    this.wire.end(reason);
  }

  /** The connection is over; without a reason it was the peer who ended it. */
  leave(reason?: CloseReason): void {
    if (this.gone) return;
    this.gone = true;
    this.#onLeave(this, reason);
  }

  #endIfFull(): void {
    if (this.wire.buffered > mostBuffered) this.end('too_slow');
  }
}

/**
 * One creator's events, for all connections of this node. Invariants:
 *
 * - Every member gets each event after its start once, in order, without a gap: it is offered batches in order, and
 *   drops what it already has.
 * - One reader serves all live members. `position` is what the reader has handed out; it never goes back.
 * - A member that joins reads the log by itself, a page at a time and no faster than its peer takes them, until it has
 *   reached the end of what was there when it came, and `position`; in that very step it becomes live. So nothing is buffered for anyone, and a hint that came
 *   while it was reading is not lost: the reader is woken after the step.
 * - A failed read loses nothing: the next hint, or the sweep, reads from the same position.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { StoredEvent } from '../events/index.ts';
import { Batch } from './batch.ts';
import type { Member, Start } from './member.ts';

const pageSize = 100;

/** What is asked of the event log. */
export interface LogReader {
  head(creatorId: string): Promise<{ readonly sequence: number } | undefined>;
  oldest(creatorId: string): Promise<number | null>;
  after(creatorId: string, after: number, limit: number): Promise<readonly StoredEvent[]>;
}

export interface FeedParts {
  readonly creatorId: string;
  readonly events: LogReader;
  readonly onSent: (events: number) => void;
  readonly onError: (error: unknown) => void;
}

export class Feed {
  /** Every member, those still joining included. */
  readonly members = new Set<Member>();
  readonly #live = new Set<Member>();
  readonly #parts: FeedParts;
  #position = 0;
  #reading = false;
  #again = false;

  constructor(parts: FeedParts) {
    this.#parts = parts;
  }

  remove(member: Member): void {
    this.members.delete(member);
    this.#live.delete(member);
  }

  /** Welcomes the member, then brings it up to date and keeps it so. Resolves after the welcome. */
  async start(member: Member, after: number | undefined): Promise<void> {
    const { creatorId, events } = this.#parts;
    const [head, oldest] = await Promise.all([events.head(creatorId), events.oldest(creatorId)]);
    if (member.gone) return;
    const start = startOf(after, head?.sequence ?? 0, oldest);
    member.cursor = start.sequence - start.replayed;
    member.wire.welcome(start);
    this.#catchUp(member, start.sequence).catch((error) => {
      this.#parts.onError(error);
      member.end('restart');
    });
  }

  async #catchUp(member: Member, newest: number): Promise<void> {
    const { creatorId, events } = this.#parts;
    while (!member.gone && member.cursor < Math.max(newest, this.#position)) {
      const page = await events.after(creatorId, member.cursor, pageSize);
      if (page.length === 0) return member.end('restart'); // grown too old in the meantime
      this.#offer(new Batch(page), [member]);
      await Promise.all([member.wire.drained(), nextTurn()]);
    }
    if (member.gone) return;
    if (this.#live.size === 0) this.#position = member.cursor;
    this.#live.add(member);
    this.#wakeReader();
  }

  /** There may be news; `sequence` is the newest that is known of. */
  wake(sequence = Number.POSITIVE_INFINITY): void {
    if (this.#live.size > 0 && sequence > this.#position) this.#wakeReader();
  }

  #wakeReader(): void {
    this.#again = true;
    if (!this.#reading) this.#read().catch(this.#parts.onError);
  }

  async #read(): Promise<void> {
    const { creatorId, events } = this.#parts;
    this.#reading = true;
    try {
      while (this.#again && this.#live.size > 0) {
        this.#again = false;
        const page = await events.after(creatorId, this.#position, pageSize);
        const news = page.filter(({ sequence }) => sequence > this.#position);
        if (news.length === 0) continue;
        const batch = new Batch(news);
        this.#position = batch.last;
        this.#offer(batch, this.#live);
        if (page.length < pageSize) continue;
        this.#again = true;
        await nextTurn();
      }
    } finally {
      this.#reading = false;
    }
  }

  #offer(batch: Batch, members: Iterable<Member>): void {
    let sent = 0;
    for (const member of members) {
      const { cursor } = member;
      member.offer(batch);
      sent += member.cursor - cursor;
    }
    this.#parts.onSent(sent);
  }
}

/** What a connection that has everything up to `after` can be given. */
export function startOf(after: number | undefined, sequence: number, oldest: number | null): Start {
  if (after === undefined) return { sequence, oldest, resumed: null, replayed: 0 };
  const kept = after === sequence || (after < sequence && oldest !== null && oldest <= after + 1);
  return { sequence, oldest, resumed: kept, replayed: kept ? sequence - after : 0 };
}

import type { StoredEvent } from '../../events/index.ts';

/** An event on its way to a client. */
export interface Outgoing {
  readonly event: StoredEvent;
  isTaken: boolean;
}

/** A new page of what was missed is read once less than this waits. */
const drainedBytes = 16 * 1024;

/** The events on their way to one client, in their order. They are written one by one, and taken a while later. */
export class Outbox {
  readonly #unwritten: Outgoing[] = [];
  /** The oldest of them is not taken. */
  readonly #untaken: Outgoing[] = [];
  #waiting: (() => void)[] = [];
  waitingBytes = 0;
  takenBytes = 0;

  add(event: StoredEvent): void {
    const outgoing = { event, isTaken: false };
    this.#unwritten.push(outgoing);
    this.#untaken.push(outgoing);
    this.waitingBytes += event.body.length;
  }

  /** The next event to write. */
  next(): Outgoing | undefined {
    return this.#unwritten.shift();
  }

  take(outgoing: Outgoing): void {
    const bytes = outgoing.event.body.length;
    outgoing.isTaken = true;
    this.waitingBytes -= bytes;
    this.takenBytes += bytes;
    while (this.#untaken[0]?.isTaken) this.#untaken.shift();
    if (this.waitingBytes < drainedBytes) this.release();
  }

  /** The sequence before the first event that is not taken; `newest` if all are. */
  position(newest: number): number {
    const [first] = this.#untaken;
    return first ? first.event.sequence - 1 : newest;
  }

  drained(): Promise<void> {
    if (this.waitingBytes < drainedBytes) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Whoever waits for the client waits no longer. */
  release(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting = [];
  }
}

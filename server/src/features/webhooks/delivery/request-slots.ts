/**
 * Limits the concurrent requests of all endpoints, of all slow endpoints, and of all endpoints of one owner. So neither
 * receivers that never answer nor those of one developer who has many take the slots that others need. Few slots are
 * released and few requests begin in one iteration of the event loop, however many receivers answer at once and however
 * many endpoints want the same event: to write a message, sign it and send it takes 0.25 ms.
 */
import { createPacer } from '../../../platform/pacer.ts';

export interface RequestSlotLimits {
  readonly all: number;
  readonly slow: number;
  readonly ofOwner: number;
}

/** A queue of an endpoint that wants a slot. */
export interface SlotRequest {
  /** The account or the app to which the endpoint belongs. */
  readonly owner: string;
  readonly slow: boolean;
}

const defaultLimits = { all: 512, slow: 256, ofOwner: 64 };

/** How many waiting queues are told of one free slot, as some of them may have nothing to send any more. */
const wakesAtOnce = 4;
const releasedAtOnce = 4;
const begunAtOnce = 4;

export class RequestSlots {
  readonly #limits: RequestSlotLimits;
  readonly #used = { all: 0, slow: 0 };
  readonly #ofOwner = new Map<string, number>();
  /** Queues that wait, in order of arrival, by what they wait for: a slot, a slot for slow ones, a slot of an owner. */
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #paced = createPacer(releasedAtOnce);
  readonly #beginPaced = createPacer(begunAtOnce);

  constructor(limits: RequestSlotLimits = defaultLimits) {
    this.#limits = limits;
  }

  /** Returns whether a slot was free. If not, calls `onFree` once when one may be. */
  acquire(request: SlotRequest, onFree: () => void): boolean {
    const lack = this.#lackFor(request);
    if (lack !== undefined) {
      const waiting = this.#waiting.get(lack) ?? new Set();
      this.#waiting.set(lack, waiting.add(onFree));
      return false;
    }
    this.#count(request, 1);
    return true;
  }

  /** Resolves when the request of an acquired slot may begin: now, or in a later iteration. */
  mayBegin(): Promise<void> {
    return new Promise((resolve) => this.#beginPaced(resolve));
  }

  /** Calls the waiting queues of the same owner, then `first`, then others. */
  release({ owner, slow }: SlotRequest, first: () => void): void {
    this.#paced(() => {
      this.#count({ owner, slow }, -1);
      this.#wake(owner, { owner, slow: false });
      first();
      this.#wake('slot', { owner: '', slow: false });
      this.#wake('slow slot', { owner: '', slow: true });
    });
  }

  /** What is missing for a slot. */
  #lackFor({ owner, slow }: SlotRequest): string | undefined {
    const { all, slow: allSlow, ofOwner } = this.#limits;
    if (slow && (this.#used.all >= all || this.#used.slow >= allSlow)) return 'slow slot';
    if (this.#used.all >= all) return 'slot';
    return (this.#ofOwner.get(owner) ?? 0) >= ofOwner ? owner : undefined;
  }

  #count({ owner, slow }: SlotRequest, change: 1 | -1): void {
    this.#used.all += change;
    if (slow) this.#used.slow += change;
    const count = (this.#ofOwner.get(owner) ?? 0) + change;
    if (count > 0) this.#ofOwner.set(owner, count);
    else this.#ofOwner.delete(owner);
  }

  /** A queue that acquires no slot has nothing to send, or waits again. */
  #wake(lack: string, request: SlotRequest): void {
    const waiting = this.#waiting.get(lack);
    if (!waiting) return;
    for (const onFree of [...waiting].slice(0, wakesAtOnce)) {
      if (this.#lackFor(request) !== undefined) break;
      waiting.delete(onFree);
      onFree();
    }
    if (waiting.size === 0) this.#waiting.delete(lack);
  }
}

/**
 * Work that costs more than a request usually does: so much of it runs side by side, the rest waits, and when too many
 * wait some are refused. Invariants:
 *
 * - What waits is begun in rotation between owners, so whoever asks for much of it waits for themselves.
 * - Where there is a limit for one owner, the other slots stay free for others, although some of the owner wait.
 * - When the queue is full, the newest of the owner who has the most waiting is refused, in favour of one who has fewer.
 *   So an owner who asks for one thing is refused only if more owners wait than the queue may hold.
 * - What `runAdmitted` adds is not refused. However much of it an owner has waiting, it counts as one.
 */
import { RoundRobin } from './round-robin.ts';

export interface WorkQueue {
  /**
   * Rejects with `QueueFull` when too many wait, else settles as the task does. `owner` is whoever asks: an address, an
   * account.
   */
  run<T>(owner: string, task: () => Promise<T>): Promise<T>;
  /** For work that must not be refused, such as the next part of what has begun. It waits like all other work. */
  runAdmitted<T>(owner: string, task: () => Promise<T>): Promise<T>;
  /** How many tasks wait. */
  readonly waiting: number;
}

export interface WorkQueueOptions {
  readonly atOnce: number;
  /** How many of one owner run at once; without it, as many as there are slots. */
  readonly atOnceOf?: (owner: string) => number;
  readonly maxWaiting: number;
}

export class QueueFull extends Error {
  override name = 'QueueFull';
  constructor() {
    super('too much of this work waits');
  }
}

interface Waiting {
  readonly begin: () => void;
  /** Absent for work that must not be refused. */
  readonly refuse?: () => void;
}

const mayBeRefused = ({ refuse }: Waiting): boolean => refuse !== undefined;

/** How many the waiting tasks of one owner count as. */
function weightOf(tasks: readonly Waiting[]): number {
  const refusable = tasks.filter(mayBeRefused).length;
  return refusable < tasks.length ? refusable + 1 : refusable;
}

export function createWorkQueue({ atOnce, atOnceOf, maxWaiting }: WorkQueueOptions): WorkQueue {
  const waiting = new RoundRobin<Waiting>();
  let running = 0;
  /** How many of each owner run, where there is a limit for one. */
  const runningOf = new Map<string, number>();
  const mayBegin = atOnceOf && ((owner: string): boolean => (runningOf.get(owner) ?? 0) < atOnceOf(owner));

  function count(owner: string, change: 1 | -1): void {
    running += change;
    if (!atOnceOf) return;
    const left = (runningOf.get(owner) ?? 0) + change;
    if (left > 0) runningOf.set(owner, left);
    else runningOf.delete(owner);
  }

  async function execute<T>(owner: string, task: () => Promise<T>): Promise<T> {
    try {
      return await task();
    } finally {
      count(owner, -1);
      waiting.take(mayBegin)?.begin();
    }
  }

  function isFull(): boolean {
    if (waiting.size < maxWaiting) return false;
    let weight = 0;
    for (const [, tasks] of waiting.entries()) weight += weightOf(tasks);
    return weight >= maxWaiting;
  }

  /** Acquires the slot at once, before others ask for it. */
  const begins = (owner: string, begin: () => void) => (): void => {
    count(owner, 1);
    begin();
  };

  function acquireSlot(owner: string): boolean {
    if (running >= atOnce || mayBegin?.(owner) === false) return false;
    count(owner, 1);
    return true;
  }

  /** Refuses one task of the owner with the most, if that leaves them no fewer than this owner. */
  function makeRoomFor(owner: string): boolean {
    let most = { owner: '', weight: weightOf(waiting.of(owner)) + 1 };
    for (const [other, tasks] of waiting.entries())
      if (weightOf(tasks) > most.weight && tasks.some(mayBeRefused)) most = { owner: other, weight: weightOf(tasks) };
    const refused = waiting.removeNewest(most.owner, mayBeRefused);
    refused?.refuse?.();
    return refused !== undefined;
  }

  return {
    get waiting() {
      return waiting.size;
    },
    async runAdmitted(owner, task) {
      if (!acquireSlot(owner))
        await new Promise<void>((resolve) => waiting.add(owner, { begin: begins(owner, resolve) }));
      return execute(owner, task);
    },
    async run(owner, task) {
      if (!acquireSlot(owner)) {
        if (isFull() && !makeRoomFor(owner)) throw new QueueFull();
        await new Promise<void>((resolve, reject) =>
          waiting.add(owner, { begin: begins(owner, resolve), refuse: () => reject(new QueueFull()) }),
        );
      }
      return execute(owner, task);
    },
  };
}

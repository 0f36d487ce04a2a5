/**
 * Work that costs more than a request usually does: so much of it runs side by side, the rest waits, and when too many
 * wait some are refused. Invariants:
 *
 * - What waits is begun in rotation between owners, so whoever asks for much of it waits for themselves.
 * - When the queue is full, the newest of the owner who has the most waiting is refused, in favour of one who has fewer.
 *   So an owner who asks for one thing is refused only if there are more owners than places.
 * - Work that goes on is not refused. However much of it an owner has, it takes one place in the queue.
 */
import { RoundRobin } from './round-robin.ts';

export interface WorkQueue {
  /**
   * Rejects with `QueueFull` when too many wait, else settles as the task does. `owner` is whoever asks: an address, an
   * account.
   */
  run<T>(owner: string, task: () => Promise<T>): Promise<T>;
  /** For the next part of work that has begun: waits its turn like all, but is not refused. */
  goOn<T>(owner: string, task: () => Promise<T>): Promise<T>;
  /** How many tasks wait. */
  readonly waiting: number;
}

export interface WorkQueueOptions {
  readonly atOnce: number;
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

/** How many places in the queue the waiting tasks of one owner take. */
function weightOf(tasks: readonly Waiting[]): number {
  const refusable = tasks.filter(mayBeRefused).length;
  return refusable < tasks.length ? refusable + 1 : refusable;
}

export function createWorkQueue({ atOnce, maxWaiting }: WorkQueueOptions): WorkQueue {
  const waiting = new RoundRobin<Waiting>();
  let running = 0;

  async function execute<T>(task: () => Promise<T>): Promise<T> {
    try {
      return await task();
    } finally {
      // Whoever is done hands over their place, so `running` stays.
      const next = waiting.take();
      if (next) next.begin();
      else running -= 1;
    }
  }

  function isFull(): boolean {
    if (waiting.size < maxWaiting) return false;
    let weight = 0;
    for (const [, tasks] of waiting.entries()) weight += weightOf(tasks);
    return weight >= maxWaiting;
  }

  function isPlaceFree(): boolean {
    if (running >= atOnce) return false;
    running += 1;
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
    async goOn(owner, task) {
      if (!isPlaceFree()) await new Promise<void>((begin) => waiting.add(owner, { begin }));
      return execute(task);
    },
    async run(owner, task) {
      if (!isPlaceFree()) {
        if (isFull() && !makeRoomFor(owner)) throw new QueueFull();
        await new Promise<void>((begin, reject) =>
          waiting.add(owner, { begin, refuse: () => reject(new QueueFull()) }),
        );
      }
      return execute(task);
    },
  };
}

/**
 * Work that costs more than a request usually does: so much of it runs side by side, the rest waits in order of arrival,
 * and when too many wait the next is refused. So whoever asks for much of it waits for others of their kind, and nobody
 * else waits for them.
 */
export interface WorkQueue {
  /** Rejects with `QueueFull` when too many wait, else settles as the task does. */
  run<T>(task: () => Promise<T>): Promise<T>;
  /** For the next part of work that has begun: waits its turn like all, but is not refused. */
  goOn<T>(task: () => Promise<T>): Promise<T>;
}

export interface WorkQueueOptions {
  readonly atOnce: number;
  readonly maxWaiting: number;
}

export class QueueFull extends Error {
  override name = 'QueueFull';
}

export function createWorkQueue({ atOnce, maxWaiting }: WorkQueueOptions): WorkQueue {
  const waiting: (() => void)[] = [];
  let running = 0;

  async function goOn<T>(task: () => Promise<T>): Promise<T> {
    if (running < atOnce) running += 1;
    // Whoever is done hands over their place, so `running` stays.
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await task();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running -= 1;
    }
  }

  return {
    goOn,
    run: async (task) => {
      if (running >= atOnce && waiting.length >= maxWaiting) throw new QueueFull('too much of this work waits');
      return goOn(task);
    },
  };
}

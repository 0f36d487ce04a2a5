import type { StreamEvent } from '../../../../../sdk/src/types.ts';
import type { QueuedAlert } from './player.ts';

/** What a frame of the server says about a rehearsal. */
interface RehearsalFrame {
  readonly id: string;
  readonly status: string;
  readonly pace: number;
  readonly alerts: readonly { readonly n: number; readonly event: StreamEvent }[];
}

export interface RehearsalsParts {
  readonly add: (alert: QueuedAlert) => void;
  /** Nothing of these rehearsals is shown any more. */
  readonly end: (isOver: (id: string) => boolean) => void;
  readonly alertOf: (event: StreamEvent) => QueuedAlert | undefined;
}

/** A rehearsal comes by frames of its own. Two connections bring the same alerts while the page moves between nodes. */
export function createRehearsals({ add, end, alertOf }: RehearsalsParts) {
  let last = { id: '', n: 0 };

  /** Empties the queue of a rehearsal that was stopped. Ids grow with time: those before the last one are over. */
  function update({ id, status }: Pick<RehearsalFrame, 'id' | 'status'>): void {
    const stopped = status === 'stopped' || status === 'ended';
    end((each) => each < id || (stopped && each === id));
  }

  return {
    update,
    receive(frame: { readonly [field: string]: unknown }): void {
      const read = readFrame(frame);
      if (!read || read.id < last.id) return;
      const { id, pace } = read;
      if (id !== last.id) last = { id, n: 0 };
      update(read);
      for (const { n, event } of read.alerts) {
        const alert = n > last.n ? alertOf(event) : undefined;
        if (!alert) continue;
        last = { id, n };
        add({ ...alert, sequence: n, expired: false, rehearsal: { id, pace } });
      }
    },
  };
}

function readFrame({ id, status, pace, alerts }: { readonly [field: string]: unknown }): RehearsalFrame | undefined {
  if (typeof id !== 'string' || typeof status !== 'string') return undefined;
  return typeof pace === 'number' && Array.isArray(alerts) ? { id, status, pace, alerts } : undefined;
}

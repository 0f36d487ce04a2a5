/**
 * What this page keeps through reloads: the last event that it handled, and the acknowledgements not yet sent. Invariants:
 *
 * - One entry of `localStorage` holds all of it, so that one write records an alert together with its acknowledgement.
 * - Pages with the same URL share the storage (two sources in OBS). Each page claims a number, which names its entry,
 *   and holds it by a lock while it lives. After a reload it claims the same number again.
 */
import type { Outcome } from './protocol.ts';

export interface Ack {
  readonly sequence: number;
  readonly outcome: Outcome;
  /** How long a shown alert stays on the screen. */
  readonly ms?: number;
}

interface Entry {
  instance: string;
  /** The last event that was handled. */
  sequence?: number;
  /** Pending acknowledgements. Entries of earlier versions have this name too. */
  owed: Ack[];
}

const maxNumber = 20;
/** The lock of the page before a reload may be released only after the new page has started. */
const lockTimeoutMs = 3000;

export type SavedState = Awaited<ReturnType<typeof openSavedState>>;

export async function openSavedState(creatorId: string) {
  const prefix = `overlay:${creatorId}:`;
  const name = `${prefix}${await claimNumber(prefix)}`;
  const entry = read(name) ?? { instance: crypto.randomUUID(), owed: [] };

  const save = () => {
    try {
      localStorage.setItem(name, JSON.stringify(entry));
    } catch {
      // Without storage a reload starts from what the server has recorded.
    }
  };

  return {
    get instance() {
      return entry.instance;
    },
    get sequence() {
      return entry.sequence;
    },
    get pendingAcks(): readonly Ack[] {
      return entry.owed;
    },
    startAt(sequence: number): void {
      entry.sequence = sequence;
      save();
    },
    record(ack: Ack): void {
      // A test may be shown after a tip that came later.
      entry.sequence = Math.max(entry.sequence ?? 0, ack.sequence);
      entry.owed.push(ack);
      save();
    },
    removeAcks(acks: readonly Ack[]): void {
      entry.owed = entry.owed.filter((ack) => !acks.includes(ack));
      save();
    },
  };
}

function read(name: string): Entry | undefined {
  try {
    const entry = JSON.parse(localStorage.getItem(name) ?? 'null');
    return /^[0-9a-f-]{36}$/.test(entry?.instance) && Array.isArray(entry.owed) ? entry : undefined;
  } catch {
    return undefined;
  }
}

async function claimNumber(prefix: string): Promise<number> {
  if (!navigator.locks) return 0;
  const before = sessionStorage.getItem(prefix);
  const number = await firstFree(prefix, before === null ? undefined : Number(before));
  sessionStorage.setItem(prefix, String(number));
  return number;
}

async function firstFree(prefix: string, before: number | undefined): Promise<number> {
  if (before !== undefined && (await lock(prefix + before, { signal: AbortSignal.timeout(lockTimeoutMs) })))
    return before;
  for (let number = 0; number < maxNumber; number++)
    if (await lock(prefix + number, { ifAvailable: true })) return number;
  return maxNumber;
}

/** Holds a lock for as long as this page lives. */
function lock(name: string, options: LockOptions): Promise<boolean> {
  return new Promise((resolve) => {
    navigator.locks
      .request(name, options, (granted) => {
        resolve(granted !== null);
        return granted ? new Promise(() => {}) : undefined;
      })
      .catch(() => resolve(false));
  });
}

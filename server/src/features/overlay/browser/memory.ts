/**
 * What this page remembers through reloads: how far it has come, and what it has not been able to tell the server.
 *
 * - One entry of the storage holds all of it, so that one write notes an alert and the word owed about it together.
 * - Pages with one address share the storage (two sources in OBS). Each takes a place of its own and keeps it for its
 *   life by a lock; after a reload it takes the same one again.
 */
export interface Ack {
  readonly sequence: number;
  readonly outcome: 'shown' | 'below_minimum' | 'expired' | 'dropped';
}

interface Entry {
  instance: string;
  /** The last event that is dealt with. */
  sequence?: number;
  owed: Ack[];
}

const places = 20;
/** A reload can be quicker than the end of the page before it. */
const patienceMs = 3000;

export type Memory = Awaited<ReturnType<typeof openMemory>>;

export async function openMemory(creatorId: string) {
  const prefix = `overlay:${creatorId}:`;
  const name = `${prefix}${await takePlace(prefix)}`;
  const entry = read(name) ?? { instance: crypto.randomUUID(), owed: [] };

  const keep = () => {
    try {
      localStorage.setItem(name, JSON.stringify(entry));
    } catch {
      // Without storage the server's note is what a reload goes by.
    }
  };

  return {
    get instance() {
      return entry.instance;
    },
    get sequence() {
      return entry.sequence;
    },
    get owed(): readonly Ack[] {
      return entry.owed;
    },
    begin(sequence: number): void {
      entry.sequence = sequence;
      keep();
    },
    note(ack: Ack): void {
      entry.sequence = ack.sequence;
      entry.owed.push(ack);
      keep();
    },
    told(acks: readonly Ack[]): void {
      entry.owed = entry.owed.filter((ack) => !acks.includes(ack));
      keep();
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

async function takePlace(prefix: string): Promise<number> {
  if (!navigator.locks) return 0;
  const before = sessionStorage.getItem(prefix);
  const taken = await firstFree(prefix, before === null ? undefined : Number(before));
  sessionStorage.setItem(prefix, String(taken));
  return taken;
}

async function firstFree(prefix: string, before: number | undefined): Promise<number> {
  if (before !== undefined && (await hold(prefix + before, { signal: AbortSignal.timeout(patienceMs) }))) return before;
  for (let place = 0; place < places; place++) if (await hold(prefix + place, { ifAvailable: true })) return place;
  return places;
}

/** Holds a lock for as long as this page lives. */
function hold(name: string, options: LockOptions): Promise<boolean> {
  return new Promise((resolve) => {
    navigator.locks
      .request(name, options, (lock) => {
        resolve(lock !== null);
        return lock ? new Promise(() => {}) : undefined;
      })
      .catch(() => resolve(false));
  });
}

/**
 * What failed of the requests of each app in the last seven days, for its developer.
 *
 * - Only requests of which the app was verified are recorded, by its token or its secret: nobody else can fill its list.
 * - A request that succeeds costs nothing. One that fails costs a lookup in a map, and waits for nothing.
 * - Failures are written in batches, every few seconds at most. Of an app, `mostAnHour` failures of an hour are listed
 *   over all nodes; of the others only their number is written.
 * - What waits to be written is bounded. Failures of yet more apps at once are not recorded.
 * - While the storage is unavailable they wait; a crash loses those of the last seconds.
 */
import { endOfTime } from '../../../platform/clock.ts';
import type { Platform } from '../../../platform/platform.ts';
import { type FailedHour, type FailurePosition, type FailureRow, failuresOf, unlistedHours, writes } from './repo.ts';

const hourMs = 3_600_000;
const keptMs = 7 * 24 * hourMs;
export const mostAnHour = 50;
const flushAfterMs = 5_000;
/** Pairs of app and hour, and rows of all of them, that wait on a node. */
const mostWaiting = { hours: 1_000, rows: 2_000 };
/** Pairs of app and hour whose list is known to be full. */
const mostKnownFull = 10_000;
/** Hours of one write: at most 500 rows, which takes a few milliseconds on SQLite. */
const batchSize = 10;
const pruneBatch = 1_000;

export type Failures = ReturnType<typeof createFailures>;

interface WaitingHour extends FailedHour {
  total: number;
  rows: FailureRow[];
}

/** An entry of the list: a request, or how many more failed in an hour. */
export type FailureEntry = FailureRow | { readonly hour: number; readonly more: number };

export interface FailurePage {
  readonly entries: readonly FailureEntry[];
  readonly next: FailurePosition | null;
}

export function createFailures({ db, clock, log }: Pick<Platform, 'db' | 'clock' | 'log'>) {
  let waiting = new Map<string, WaitingHour>();
  let waitingRows = 0;
  const full = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let flushing: Promise<void> = Promise.resolve();

  const keyOf = ({ clientId, hour }: Pick<FailedHour, 'clientId' | 'hour'>): string => `${clientId}:${hour}`;

  function hourOf(clientId: string, hour: number): WaitingHour | undefined {
    const key = keyOf({ clientId, hour });
    const known = waiting.get(key);
    if (known || waiting.size >= mostWaiting.hours) return known;
    const added = { clientId, hour, total: 0, rows: [] };
    waiting.set(key, added);
    return added;
  }

  const hasRoom = (to: WaitingHour): boolean =>
    to.rows.length < mostAnHour && waitingRows < mostWaiting.rows && !full.has(keyOf(to));

  function addRow(to: WaitingHour, row: FailureRow): void {
    to.rows.push(row);
    waitingRows += 1;
  }

  function schedule(): void {
    timer ??= setTimeout(flush, flushAfterMs).unref();
  }

  async function writeAll(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const hours = [...waiting.values()].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
    waiting = new Map();
    waitingRows = 0;
    for (let at = 0; at < hours.length; at += batchSize) {
      const batch = hours.slice(at, at + batchSize);
      try {
        markFull(batch, await db.write(writes.addFailures, batch, mostAnHour));
      } catch (error) {
        putBack(hours.slice(at));
        throw error;
      }
    }
  }

  function markFull(batch: readonly WaitingHour[], listed: readonly number[]): void {
    if (full.size >= mostKnownFull) full.clear();
    for (const [index, hour] of batch.entries()) if ((listed[index] ?? 0) >= mostAnHour) full.add(keyOf(hour));
  }

  /** Those that came meanwhile are newer, and are counted behind them. */
  function putBack(hours: readonly WaitingHour[]): void {
    for (const old of hours) {
      const to = hourOf(old.clientId, old.hour);
      if (!to) continue;
      to.total += old.total;
      for (const row of old.rows) if (hasRoom(to)) addRow(to, row);
    }
    schedule();
  }

  /** One at a time, so that rows are not written behind those that follow them. */
  function flush(): Promise<void> {
    flushing = flushing.then(writeAll).catch((err) => log.warn({ err }, 'failed requests of apps were not written'));
    return flushing;
  }

  return {
    /** `toRow` is not called once the hour's list is full. */
    record(clientId: string, toRow: (at: number) => FailureRow): void {
      const at = clock();
      const to = hourOf(clientId, at - (at % hourMs));
      if (!to) return;
      to.total += 1;
      if (hasRoom(to)) addRow(to, toRow(at));
      schedule();
    },

    /** Writes what waits: before the list is shown, and at shutdown. A failure is logged, and no caller fails with it. */
    flush,

    /** Newest first. The number of those that are not listed stands at the end of its hour. */
    async page(clientId: string, before: FailurePosition | null, limit: number): Promise<FailurePage> {
      const since = clock() - keptMs;
      const from = before ?? { at: endOfTime, id: '' };
      const [found, hours] = await Promise.all([
        failuresOf(db, clientId, since, from, limit + 1),
        unlistedHours(db, clientId, since),
      ]);
      const rows = found.slice(0, limit);
      const last = found.length > limit ? rows.at(-1) : undefined;
      const own = hours.filter(({ hour }) => hour <= from.at && (last === undefined || hour > last.at));
      const entries = [...rows, ...own].sort((a, b) => timeOf(b) - timeOf(a));
      return { entries, next: last ? { at: last.at, id: last.id } : null };
    },

    async prune(): Promise<void> {
      while ((await db.write(writes.deleteBefore, clock() - keptMs, pruneBatch)) >= pruneBatch);
      full.clear();
    },
  };
}

const timeOf = (entry: FailureEntry): number => ('hour' in entry ? entry.hour : entry.at);

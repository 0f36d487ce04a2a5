import { randomUUID } from 'node:crypto';
import type { Platform } from '../../platform/platform.ts';
import type { Streams } from '../sockets/index.ts';
import * as repo from './repo.ts';

export interface PresenceParts extends Pick<Platform, 'db' | 'clock' | 'log'> {
  readonly streams: Streams;
}

export type Presence = ReturnType<typeof createPresence>;

/** One process on SQLite counts its own overlays; what it writes tells later when they were open. */
const reportIntervalMs = { sqlite: 60_000, postgres: 10_000 };
/** A count that was not reported again for this long is ignored: its node has died. */
const staleMs = { sqlite: 150_000, postgres: 30_000 };

/** A time in which at least one overlay was open; `to` is null if one still is. */
export interface OverlaySpan {
  readonly from: number;
  readonly to: number | null;
}

/**
 * Counts the open overlays of a creator over all nodes. Each node writes its counts to the database when they change, and
 * repeats them while they are not zero.
 */
export function createPresence({ db, streams, clock, log }: PresenceParts) {
  const node = randomUUID();
  /** The creators whose counts are reported. When the last overlay of each was closed here, or null while one is open. */
  const closedAt = new Map<string, number | null>();
  const reporting = new Map<string, 'once' | 'again'>();
  let timer: NodeJS.Timeout | undefined;
  const localOpen = (creatorId: string): repo.OpenOverlays => {
    const outdated = streams.connected(creatorId, 'old_overlay');
    return { connected: streams.connected(creatorId, 'overlay') + outdated, outdated };
  };

  /** Over all nodes. */
  async function open(creatorId: string): Promise<repo.OpenOverlays> {
    const here = localOpen(creatorId);
    if (db.engine === 'sqlite') return here;
    const there = await repo.openElsewhere(db, creatorId, node, clock() - staleMs.postgres);
    return { connected: here.connected + there.connected, outdated: here.outdated + there.outdated };
  }

  /** One write at a time for a creator. The next write reports what has changed meanwhile. */
  async function report(creatorId: string): Promise<void> {
    if (reporting.has(creatorId)) return void reporting.set(creatorId, 'again');
    reporting.set(creatorId, 'once');
    try {
      const here = localOpen(creatorId);
      await db.write(repo.writes.setPresence, creatorId, node, here, closedAt.get(creatorId) ?? clock());
      if (here.connected === 0 && reporting.get(creatorId) === 'once') closedAt.delete(creatorId);
    } catch (err) {
      log.warn({ err }, 'the count of open overlays was not written; it will be tried again');
    }
    const again = reporting.get(creatorId) === 'again';
    reporting.delete(creatorId);
    if (again) await report(creatorId);
  }

  return {
    /** An overlay of this creator was opened or closed. */
    changed(creatorId: string): void {
      closedAt.set(creatorId, localOpen(creatorId).connected > 0 ? null : clock());
      void report(creatorId);
      timer ??= setInterval(() => {
        for (const each of closedAt.keys()) void report(each);
        if (closedAt.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      }, reportIntervalMs[db.engine]).unref();
    },

    /** When overlays of this creator were open, over all nodes, the oldest first. */
    async spans(creatorId: string): Promise<OverlaySpan[]> {
      const here = localOpen(creatorId).connected > 0;
      // Before the rows are read: the closing may be written meanwhile.
      const closedHere = closedAt.get(creatorId) ?? clock();
      const alive = clock() - staleMs[db.engine];
      const isOpen = ({ closed, node_id, seen_at }: repo.SpanRow): boolean =>
        closed === 0 && (node_id === node ? here : seen_at >= alive);
      const lastOpen = ({ closed, node_id, seen_at }: repo.SpanRow): number =>
        closed === 0 && node_id === node ? closedHere : seen_at;
      const spans: OverlaySpan[] = [];
      for (const row of await repo.spansOf(db, creatorId)) {
        const to = isOpen(row) ? null : lastOpen(row);
        const last = spans.at(-1);
        if (!last || (last.to !== null && last.to < row.opened_at)) spans.push({ from: row.opened_at, to });
        else if (last.to !== null && (to === null || to > last.to)) spans[spans.length - 1] = { from: last.from, to };
      }
      return spans;
    },

    open,
    connected: async (creatorId: string): Promise<number> => (await open(creatorId)).connected,
  };
}

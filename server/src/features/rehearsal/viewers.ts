/**
 * What overlay connections get of rehearsals. Invariants:
 *
 * - Each connection has a position of its own and is told once that a rehearsal is over. What was played before the page
 *   connected is not sent: a rehearsal is for whoever watches now.
 * - A creator's connections are served together: those at the same position share one read and one encoded frame. One that
 *   reads slowly falls behind alone, and is read for until it has caught up.
 */
import { toTimestamp } from '../../platform/clock.ts';
import type { Platform } from '../../platform/platform.ts';
import { tipForScreen } from '../events/index.ts';
import type { Tips } from '../tips/index.ts';
import * as repo from './repo.ts';
import { rehearsalTopic } from './topics.ts';

export interface ViewersParts extends Pick<Platform, 'db' | 'hub' | 'log'> {
  readonly tips: Tips;
  /** Encodes a frame for `FrameSink.sendFrame`. */
  readonly encodeFrame: (frame: { readonly type: string; readonly [field: string]: unknown }) => Buffer;
}

/** The connection of an overlay page. */
export interface FrameSink {
  sendFrame(frame: Buffer): void;
  /** Bytes that wait in the socket's buffer. */
  readonly buffered: number;
}

const pageSize = 50;
/** A page that reads slowly gets the rest later. */
const maxBuffered = 256 * 1024;

interface Position {
  readonly id: string;
  n: number;
  endSent: boolean;
}

/** The connection of a page that watches what is rehearsed. */
interface Viewer {
  readonly sink: FrameSink;
  readonly since: number;
  position: Position | undefined;
}

/** A viewer whose position in the current rehearsal is known. */
type PositionedViewer = Viewer & { position: Position };

/** The open viewers of a creator. */
interface CreatorViewers {
  readonly open: Set<Viewer>;
  readonly wake: () => void;
  readonly unsubscribe: () => void;
}

export function createViewers({ db, hub, log, tips, encodeFrame }: ViewersParts) {
  const creators = new Map<string, CreatorViewers>();

  /** A page begins where the rehearsal stood when it connected, not when the log is first read for it. */
  async function positionOf(viewer: Viewer, row: repo.RehearsalRow): Promise<PositionedViewer> {
    const { since, position } = viewer;
    if (position?.id === row.id) return Object.assign(viewer, { position });
    const n = row.created_at < since ? await repo.playedBefore(db, row.creator_id, since) : 0;
    return Object.assign(viewer, {
      position: { id: row.id, n, endSent: row.ended_at !== null && row.ended_at < since },
    });
  }

  async function alertsOf(creatorId: string, id: string, steps: readonly repo.StepRow[]): Promise<object[]> {
    const showable = await tips.showable(
      creatorId,
      steps.map(({ tip_id }) => tip_id),
    );
    return steps.flatMap(({ n, tip_id, played_at }) => {
      const tip = showable.get(tip_id);
      if (!tip) return [];
      const event = {
        id: `${id}_${n}`,
        type: 'alert.replayed',
        sequence: null,
        test: true,
        replay: true,
        creator_id: creatorId,
        created_at: toTimestamp(played_at),
        data: { tip: tipForScreen(tip) },
      };
      return { n, event };
    });
  }

  function sendFrame(
    viewers: readonly PositionedViewer[],
    { id, pace, status }: repo.RehearsalRow,
    alerts: readonly object[],
  ): void {
    const frame = encodeFrame({ type: 'rehearsal', id, pace, status, alerts });
    for (const { sink } of viewers) sink.sendFrame(frame);
  }

  /** Sends the next page to viewers at the same position. Returns whether more may follow. */
  async function readPage(
    creatorId: string,
    row: repo.RehearsalRow,
    viewers: readonly PositionedViewer[],
    after: number,
  ) {
    const steps = await repo.stepsAfter(db, creatorId, after, pageSize);
    const endSent = repo.isOver(row) && steps.length < pageSize;
    const alerts = await alertsOf(creatorId, row.id, steps);
    for (const { position } of viewers) Object.assign(position, { n: steps.at(-1)?.n ?? after, endSent });
    if (steps.length > 0 || endSent) sendFrame(viewers, row, alerts);
    return steps.length === pageSize;
  }

  async function pass(creatorId: string, open: ReadonlySet<Viewer>): Promise<void> {
    // Before the row is read: a page that connects meanwhile gets its position from a newer row.
    const viewers = [...open];
    const row = await repo.rehearsalOf(db, creatorId);
    if (!row) return;
    const positioned = await Promise.all(viewers.map((viewer) => positionOf(viewer, row)));
    let due = positioned.filter(({ position }) => !position.endSent);
    if (row.status === 'stopped' || row.status === 'ended') {
      for (const { position } of due) position.endSent = true;
      return due.length > 0 ? sendFrame(due, row, []) : undefined;
    }
    for (;;) {
      due = due.filter((viewer) => open.has(viewer) && viewer.sink.buffered < maxBuffered);
      if (due.length === 0) return;
      // Those furthest behind first, so that they meet the others.
      const after = Math.min(...due.map(({ position }) => position.n));
      const together = due.filter(({ position }) => position.n === after);
      if (!(await readPage(creatorId, row, together, after))) due = due.filter((viewer) => !together.includes(viewer));
    }
  }

  function createCreatorViewers(creatorId: string): CreatorViewers {
    const open = new Set<Viewer>();
    let [running, requested] = [false, false];

    async function run(): Promise<void> {
      requested = true;
      if (running) return;
      running = true;
      while (requested && open.size > 0) {
        requested = false;
        await pass(creatorId, open).catch((err) =>
          log.warn({ err }, 'a rehearsal could not be read; it follows later'),
        );
      }
      running = false;
    }

    const wake = () => void run();
    return { open, wake, unsubscribe: hub.subscribe(rehearsalTopic(creatorId), wake) };
  }

  return {
    /** Sends a page what is played from `since` on. Returns a function that ends it. */
    open(creatorId: string, sink: FrameSink, since: number): () => void {
      const viewers = creators.get(creatorId) ?? createCreatorViewers(creatorId);
      creators.set(creatorId, viewers);
      const viewer: Viewer = { sink, since, position: undefined };
      viewers.open.add(viewer);
      viewers.wake();
      return () => {
        if (!viewers.open.delete(viewer) || viewers.open.size > 0) return;
        viewers.unsubscribe();
        creators.delete(creatorId);
      };
    },

    /** Reads again, in case a hint was lost. */
    wake(creatorId: string): void {
      creators.get(creatorId)?.wake();
    },
  };
}

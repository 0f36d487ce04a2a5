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

export interface FeedsParts extends Pick<Platform, 'db' | 'hub' | 'log'> {
  readonly tips: Tips;
  /** Encodes a frame for `FeedReceiver.sendFrame`. */
  readonly encodeFrame: (frame: { readonly type: string; readonly [field: string]: unknown }) => Buffer;
}

/** The connection of an overlay page. */
export interface FeedReceiver {
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

interface Feed {
  readonly receiver: FeedReceiver;
  readonly since: number;
  position: Position | undefined;
}

/** A feed of which the position in the current rehearsal is known. */
type PlacedFeed = Feed & { position: Position };

/** The open feeds of a creator. */
interface CreatorFeeds {
  readonly open: Set<Feed>;
  readonly wake: () => void;
  readonly unsubscribe: () => void;
}

export function createFeeds({ db, hub, log, tips, encodeFrame }: FeedsParts) {
  const creators = new Map<string, CreatorFeeds>();

  /** A page begins where the rehearsal stood when it connected, not when its feed is first read. */
  async function place(feed: Feed, row: repo.RehearsalRow): Promise<PlacedFeed> {
    const { since, position } = feed;
    if (position?.id === row.id) return Object.assign(feed, { position });
    const n = row.created_at < since ? await repo.playedBefore(db, row.creator_id, since) : 0;
    return Object.assign(feed, { position: { id: row.id, n, endSent: row.ended_at !== null && row.ended_at < since } });
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

  function tell(
    feeds: readonly PlacedFeed[],
    { id, pace, status }: repo.RehearsalRow,
    alerts: readonly object[],
  ): void {
    const frame = encodeFrame({ type: 'rehearsal', id, pace, status, alerts });
    for (const { receiver } of feeds) receiver.sendFrame(frame);
  }

  /** Sends the next page to feeds at the same position. Returns whether more may follow. */
  async function readPage(creatorId: string, row: repo.RehearsalRow, feeds: readonly PlacedFeed[], after: number) {
    const steps = await repo.stepsAfter(db, creatorId, after, pageSize);
    const endSent = repo.isOver(row) && steps.length < pageSize;
    const alerts = await alertsOf(creatorId, row.id, steps);
    for (const { position } of feeds) Object.assign(position, { n: steps.at(-1)?.n ?? after, endSent });
    if (steps.length > 0 || endSent) tell(feeds, row, alerts);
    return steps.length === pageSize;
  }

  async function pass(creatorId: string, open: ReadonlySet<Feed>): Promise<void> {
    // Before the row is read: a page that connects meanwhile is placed by a newer one.
    const feeds = [...open];
    const row = await repo.rehearsalOf(db, creatorId);
    if (!row) return;
    const placed = await Promise.all(feeds.map((feed) => place(feed, row)));
    let due = placed.filter(({ position }) => !position.endSent);
    if (row.status === 'stopped' || row.status === 'ended') {
      for (const { position } of due) position.endSent = true;
      return due.length > 0 ? tell(due, row, []) : undefined;
    }
    for (;;) {
      due = due.filter((feed) => open.has(feed) && feed.receiver.buffered < maxBuffered);
      if (due.length === 0) return;
      // Those furthest behind first, so that they meet the others.
      const after = Math.min(...due.map(({ position }) => position.n));
      const together = due.filter(({ position }) => position.n === after);
      if (!(await readPage(creatorId, row, together, after))) due = due.filter((feed) => !together.includes(feed));
    }
  }

  function createCreatorFeeds(creatorId: string): CreatorFeeds {
    const open = new Set<Feed>();
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
    open(creatorId: string, receiver: FeedReceiver, since: number): () => void {
      const feeds = creators.get(creatorId) ?? createCreatorFeeds(creatorId);
      creators.set(creatorId, feeds);
      const feed: Feed = { receiver, since, position: undefined };
      feeds.open.add(feed);
      feeds.wake();
      return () => {
        if (!feeds.open.delete(feed) || feeds.open.size > 0) return;
        feeds.unsubscribe();
        creators.delete(creatorId);
      };
    },

    /** Reads again, in case a hint was lost. */
    wake(creatorId: string): void {
      creators.get(creatorId)?.wake();
    },
  };
}

/**
 * What overlay connections get of rehearsals. A feed has a position of its own, reads the steps after it, and tells once
 * that a rehearsal is over. What was played before the page connected is not sent: a rehearsal is for whoever watches now.
 */
import { toTimestamp } from '../../platform/clock.ts';
import type { Platform } from '../../platform/platform.ts';
import { tipForScreen } from '../events/index.ts';
import type { Tips } from '../tips/index.ts';
import * as repo from './repo.ts';
import { rehearsalTopic } from './topics.ts';

export interface FeedsParts extends Pick<Platform, 'db' | 'hub' | 'log'> {
  readonly tips: Tips;
}

/** The connection of an overlay page. */
export interface FeedReceiver {
  notify(frame: { readonly type: 'rehearsal'; readonly [field: string]: unknown }): void;
  /** Bytes that wait in the socket's buffer. */
  readonly buffered: number;
}

const pageSize = 50;
/** A page that reads slowly gets the rest later. */
const maxBuffered = 256 * 1024;

interface Position {
  readonly id: string;
  n: number;
  told: boolean;
}

export function createFeeds({ db, hub, log, tips }: FeedsParts) {
  const feeds = new Map<string, Set<() => void>>();

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

  async function read(creatorId: string, row: repo.RehearsalRow, position: Position, receiver: FeedReceiver) {
    const { id, pace, status } = row;
    const tell = (alerts: readonly object[]) => receiver.notify({ type: 'rehearsal', id, pace, status, alerts });
    if (status === 'stopped' || status === 'ended') {
      position.told = true;
      return tell([]);
    }
    while (receiver.buffered < maxBuffered) {
      const steps = await repo.stepsAfter(db, creatorId, position.n, pageSize);
      position.n = steps.at(-1)?.n ?? position.n;
      position.told = repo.isOver(row) && steps.length < pageSize;
      if (steps.length > 0 || position.told) tell(await alertsOf(creatorId, id, steps));
      if (steps.length < pageSize) return;
    }
  }

  return {
    /**
     * Sends a page what is played from now on, and of a rehearsal that was started at or after `since` what was played
     * already. Returns a function that ends it.
     */
    open(creatorId: string, receiver: FeedReceiver, since: number): () => void {
      let position: Position | undefined;
      let [running, requested, closed] = [false, false, false];

      async function pass(): Promise<void> {
        const row = await repo.rehearsalOf(db, creatorId);
        if (!row) return;
        const earlier = position === undefined && row.created_at < since;
        if (position?.id !== row.id)
          position = { id: row.id, n: earlier ? row.played : 0, told: earlier && repo.isOver(row) };
        if (!position.told) await read(creatorId, row, position, receiver);
      }

      async function run(): Promise<void> {
        requested = true;
        if (running) return;
        running = true;
        while (requested && !closed) {
          requested = false;
          await pass().catch((err) => log.warn({ err }, 'a rehearsal could not be read; it follows later'));
        }
        running = false;
      }

      const wake = () => void run();
      const unsubscribe = hub.subscribe(rehearsalTopic(creatorId), wake);
      const own = feeds.get(creatorId) ?? new Set();
      feeds.set(creatorId, own.add(wake));
      wake();
      return () => {
        closed = true;
        unsubscribe();
        own.delete(wake);
        if (own.size === 0) feeds.delete(creatorId);
      };
    },

    /** Reads again, in case a hint was lost. */
    wake(creatorId: string): void {
      for (const wake of feeds.get(creatorId) ?? []) wake();
    },
  };
}

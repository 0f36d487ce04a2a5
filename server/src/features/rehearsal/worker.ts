/** Plays rehearsals. One worker runs in each process: it takes those that wait, and ends those whose node went away. */
import { randomUUID } from 'node:crypto';
import type { Platform } from '../../platform/platform.ts';
import { type PlayParts, playRehearsal } from './play.ts';
import * as repo from './repo.ts';
import type { Rehearsals } from './service.ts';
import { leaseMs } from './span.ts';
import { waitingTopic } from './topics.ts';

export interface RehearsalWorkerParts extends PlayParts, Pick<Platform, 'log'> {
  readonly rehearsals: Rehearsals;
}

export type RehearsalWorker = ReturnType<typeof createRehearsalWorker>;

const pollMs = 1_000;
/** A rehearsal begins so long after it was taken, so that its first alert is not late. */
const leadMs = 500;

export function createRehearsalWorker(parts: RehearsalWorkerParts) {
  const { db, hub, clock, steady, log, rehearsals } = parts;
  const nodeId = randomUUID();
  const stopping = new AbortController();
  const playing = new Set<Promise<void>>();
  const stops: (() => void)[] = [];
  /** The creators of the rehearsals that were not over in the last pass. */
  let watched = new Set<string>();
  let polling: Promise<void> | undefined;
  let polledAgain = false;

  async function take({ creator_id: creatorId, ...row }: repo.RehearsalRow): Promise<void> {
    const now = clock();
    const own = { creatorId, id: row.id, nodeId };
    const startsAt = steady() + leadMs;
    if (!(await db.write(repo.writes.take, own, now + leadMs, now, now + leaseMs))) return;
    const plays = playRehearsal(parts, own, { ...row, startsAt }, stopping.signal)
      .catch((err) => log.warn({ err, creator_id: creatorId }, 'a rehearsal has ended early'))
      .finally(() => playing.delete(plays));
    playing.add(plays);
    rehearsals.announce(creatorId);
  }

  /** Hints may get lost, so viewers are woken as well: also at the end of a rehearsal. */
  async function pass(): Promise<void> {
    const rows = await rehearsals.active();
    const active = new Set(rows.map(({ creator_id }) => creator_id));
    for (const creatorId of new Set([...watched, ...active])) rehearsals.viewers.wake(creatorId);
    watched = active;
    for (const row of rows) if (row.status === 'waiting' && !stopping.signal.aborted) await take(row);
  }

  /** Passes run one at a time. A call during a pass queues one more. */
  function poll(): Promise<void> {
    polledAgain = true;
    polling ??= (async () => {
      while (polledAgain && !stopping.signal.aborted) {
        polledAgain = false;
        await pass().catch((err) => log.warn({ err }, 'rehearsals: trying again'));
      }
      polling = undefined;
    })();
    return polling;
  }

  return {
    async start(): Promise<void> {
      // SQLite has one server process: whatever plays at its start was played by a process that has died.
      if (db.engine === 'sqlite') await db.write(repo.writes.endPlaying, null, clock());
      const timer = setInterval(poll, pollMs).unref();
      const external = db.onExternalChange?.(() => void poll());
      stops.push(
        () => clearInterval(timer),
        hub.subscribe(waitingTopic, () => void poll()),
        () => external?.(),
      );
    },

    poll,

    /** For tests: resolves when nothing plays here. */
    async idle(): Promise<void> {
      await poll();
      await Promise.all(playing);
    },

    /**
     * Ends the rehearsals that this node plays. If that fails, it is logged and their leases end them: a shutdown does not
     * fail with it.
     */
    async stop(): Promise<void> {
      stopping.abort();
      for (const stop of stops.splice(0)) stop();
      await Promise.all([polling, ...playing]);
      try {
        for (const creatorId of await db.write(repo.writes.endPlaying, nodeId, clock())) rehearsals.announce(creatorId);
      } catch (err) {
        log.warn({ err }, 'this node could not end the rehearsals that it plays');
      }
    },
  };
}

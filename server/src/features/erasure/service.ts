/**
 * Erases the words of tips, a right of supporters: of one tip, or of all tips of a name. The second reads the whole
 * history, in parts between which others read and write. Its position is stored, so another node, or this one after a
 * restart, continues where it stopped.
 */
import { endOfTime } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/database.ts';
import type { Platform } from '../../platform/platform.ts';
import { QueueFull } from '../../platform/work-queue.ts';
import type { EventLog } from '../events/index.ts';
import { controlTopic, overlayTopic } from '../overlay/index.ts';
import type { Tips } from '../tips/index.ts';
import { webhookChangesTopic } from '../webhooks/index.ts';
import * as repo from './repo.ts';

export interface ErasureParts extends Pick<Platform, 'hub' | 'clock' | 'newId' | 'log'> {
  readonly db: Pick<Database, 'all' | 'get' | 'write'>;
  readonly events: Pick<EventLog, 'prepare' | 'announce'>;
  readonly tips: Pick<Tips, 'ofName' | 'countRecorded'>;
}

export type Erasure = ReturnType<typeof createErasure>;
export type ErasureProgress = repo.ErasureRow;

/** An erasure that nobody has worked on for so long was left by its node. */
const leftAfterMs = 60_000;
/** The position is stored after so many tips, and after each part that had tips of the name. */
const tipsPerStep = 1_000;
/** How many tips are erased at once. Each locks its creator's head, so more would only occupy connections. */
const atOnce = 4;
const newest = { createdAt: endOfTime, sequence: Number.MAX_SAFE_INTEGER };

export function createErasure({ db, hub, clock, newId, log, events, tips }: ErasureParts) {
  const { writes } = repo;
  /** The erasures of this process. */
  const running = new Map<string, Promise<void>>();
  let stopping = false;

  /** Returns whether the tip had words. */
  async function eraseOne(creatorId: string, tipId: string): Promise<boolean> {
    const skipped = events.prepare({ creatorId, type: 'alert.skipped', subjectId: tipId });
    const erased = await db.write(writes.eraseTipTexts, tipId, skipped);
    if (erased && erased.sequence !== null) events.announce(creatorId, erased.sequence);
    return erased !== null;
  }

  /** Open overlays, widgets and live controls read anew what they may show. Workers drop the deliveries that they hold. */
  function announceErased(creatorId: string): void {
    hub.publish(overlayTopic(creatorId), 'erased');
    hub.publish(controlTopic(creatorId), 'erased');
    hub.publish(webhookChangesTopic, creatorId);
  }

  async function eraseAll(creatorId: string, ids: readonly string[]): Promise<number> {
    let erased = 0;
    for (let from = 0; from < ids.length; from += atOnce) {
      const part = ids.slice(from, from + atOnce);
      const had = await Promise.all(part.map((id) => eraseOne(creatorId, id)));
      erased += had.filter(Boolean).length;
    }
    if (erased > 0) announceErased(creatorId);
    return erased;
  }

  async function work(erasure: repo.ErasureRow & { readonly name: string }): Promise<void> {
    const { creator_id: creatorId, id, name } = erasure;
    const start = { createdAt: erasure.created_at, sequence: erasure.sequence };
    let searched = erasure.searched;
    let stored = searched;
    for await (const { ids, read, position } of tips.ofName(creatorId, name, start)) {
      if (stopping) return;
      const erased = await eraseAll(creatorId, ids);
      searched += read;
      if (erased === 0 && searched - stored < tipsPerStep) continue;
      stored = searched;
      const step = { creatorId, id, position, searched, erased, now: clock() };
      if (!(await db.write(writes.advance, step))) return;
    }
    await db.write(writes.finish, creatorId, id, clock());
  }

  /** Works on an erasure unless this process does already. What fails is continued by a later `resume`. */
  function begin(erasure: repo.ErasureRow): void {
    const { creator_id: creatorId, name } = erasure;
    if (name === null || stopping || running.has(creatorId)) return;
    const done = work({ ...erasure, name })
      .catch((err) => {
        if (!(err instanceof QueueFull)) log.warn({ err, creator_id: creatorId }, 'erasing words is interrupted');
      })
      .finally(() => running.delete(creatorId));
    running.set(creatorId, done);
  }

  return {
    /** Erases the words of one tip. Returns whether it had any. */
    async one(creatorId: string, tipId: string): Promise<boolean> {
      const erased = await eraseOne(creatorId, tipId);
      if (erased) announceErased(creatorId);
      return erased;
    },

    /** Begins to erase the words of all tips of a name. Returns false while another erasure is not finished. */
    async start(creatorId: string, name: string): Promise<boolean> {
      const total = await tips.countRecorded(creatorId);
      const erasure = { creatorId, id: newId('ers'), name, before: newest, total, now: clock() };
      if (!(await db.write(writes.insertErasure, erasure))) return false;
      const row = await repo.erasureOf(db, creatorId);
      if (row) begin(row);
      return true;
    },

    /** The last erasure of all tips of a name. */
    last: (creatorId: string): Promise<ErasureProgress | undefined> => repo.erasureOf(db, creatorId),

    /** Continues the erasures that their nodes have left. */
    async resume(): Promise<void> {
      for (const erasure of await repo.leftErasures(db, clock() - leftAfterMs)) begin(erasure);
    },

    /** Ends the work of this process after the current part. */
    async stop(): Promise<void> {
      stopping = true;
      await Promise.all(running.values());
    },
  };
}

/**
 * Which keys are connected, and how far their programs have come. Invariants:
 *
 * - A key has one position: the last sequence up to which its program needs nothing. It never goes back.
 * - The position is written when a connection closes, and every few seconds while it moves, of all keys in one write. So
 *   a crash loses nothing, and repeats what was sent since the last write.
 * - A connection that is the only one of its key continues at the position, but brings at most five minutes. Any other one
 *   begins at the newest event.
 * - The database says which nodes have connections of a key. Such a node is asked, because it may have died, and it asks its
 *   clients, because they may have vanished. Without an answer in time there is no connection: at worst some events repeat.
 * - Each node repeats which keys it has. A page that shows what is connected asks nobody, and believes what was repeated.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Platform } from '../../../platform/platform.ts';
import type { EventLog } from '../../events/index.ts';
import * as repo from './repo.ts';
import type { FoundKey } from './service.ts';

export interface OpenKeysParts extends Pick<Platform, 'db' | 'hub' | 'clock' | 'log'> {
  readonly events: EventLog;
}

export type OpenKeys = ReturnType<typeof createOpenKeys>;

/** A connection of a key. */
export interface KeyConnection {
  /** The sequence up to which the program is known to need nothing more; nothing while that is not known. */
  readonly position: () => number | undefined;
  /** Whether the program answers within this time. */
  readonly isAlive: (withinMs: number) => Promise<boolean>;
}

const saveIntervalMs = 2000;
/** How often a node repeats which keys it has, and after which silence it counts as dead for who only looks. */
const renewIntervalMs = 10_000;
const staleMs = 30_000;
/** Keys of one write. */
const batchSize = 500;
const resumableMs = 5 * 60_000;
/** How long a program may take to answer. */
const aliveWithinMs = 1500;
/** How long another node may take to say that it has a connection of the key, and how often the answer is looked for. */
const answerWithinMs = 3000;
const probePollMs = 100;

/** The topic that asks other nodes whether they have a connection of a key. The message is the ids of a creator and a key. */
const probeTopic = 'stream-keys';

interface OpenKey {
  readonly creatorId: string;
  readonly connections: Set<KeyConnection>;
  /** The position of connections that have closed while others were open. */
  closedAt: number;
  saved: number;
}

export function createOpenKeys({ db, hub, clock, log, events }: OpenKeysParts) {
  const node = randomUUID();
  const open = new Map<string, OpenKey>();
  /** By key: a connection that is opened next must find what the last one has left. */
  const closing = new Map<string, Promise<void>>();
  let stopWatching: (() => void) | undefined;
  let renewedAt = 0;
  const onError = (err: unknown): void => log.warn({ err }, 'the position of a stream key was not written');

  function watch(): () => void {
    const timer = setInterval(() => {
      save().catch(onError);
      renew().catch(onError);
    }, saveIntervalMs).unref();
    const unsubscribe = hub.subscribe(probeTopic, (message) => {
      const [creatorId = '', keyId = ''] = message.split(' ');
      void answerProbe(creatorId, keyId).catch(onError);
    });
    return () => {
      clearInterval(timer);
      unsubscribe();
    };
  }

  async function answerProbe(creatorId: string, keyId: string): Promise<void> {
    const connections = [...(open.get(keyId)?.connections ?? [])];
    if (await isAnyAlive(connections)) await db.write(repo.writes.answerProbe, creatorId, keyId, node);
  }

  async function save(): Promise<void> {
    const moved = [...open].flatMap(([id, key]) => {
      const position = positionOf(key);
      return position > key.saved ? [{ key, row: { creator_id: key.creatorId, id, position } }] : [];
    });
    for (let at = 0; at < moved.length; at += batchSize) {
      const batch = moved.slice(at, at + batchSize);
      await db.write(
        repo.writes.savePositions,
        batch.map(({ row }) => row),
      );
      for (const { key, row } of batch) key.saved = Math.max(key.saved, row.position);
    }
  }

  async function renew(): Promise<void> {
    const now = clock();
    // On SQLite this process is the only server.
    if (db.engine === 'sqlite' || now < renewedAt + renewIntervalMs) return;
    renewedAt = now;
    const keys = [...open].map(([id, { creatorId }]) => ({ creator_id: creatorId, id }));
    for (let at = 0; at < keys.length; at += batchSize)
      await db.write(repo.writes.renewNode, node, keys.slice(at, at + batchSize), now);
  }

  /** Whether one of these nodes still has a connection of the key. Those that have none are forgotten. */
  async function isConnectedElsewhere({ creatorId, id }: FoundKey, others: readonly repo.KeyNode[]): Promise<boolean> {
    if (others.length === 0) return false;
    // On SQLite this process is the only server: the others have died.
    if (db.engine === 'postgres') {
      hub.publish(probeTopic, `${creatorId} ${id}`);
      const before = new Map(others.map(({ node_id, answers }) => [node_id, answers]));
      for (let waited = 0; waited < answerWithinMs; waited += probePollMs) {
        await delay(probePollMs);
        const now = await repo.otherNodes(db, creatorId, id, node);
        const left = now.filter(({ node_id }) => before.has(node_id));
        if (left.some(({ node_id, answers }) => answers !== before.get(node_id))) return true;
        if (left.length === 0) return false;
      }
    }
    const dead = others.map(({ node_id }) => node_id);
    await db.write(repo.writes.forgetNodes, creatorId, id, dead);
    return false;
  }

  function join({ id, creatorId }: FoundKey, connection: KeyConnection): OpenKey {
    stopWatching ??= watch();
    const key = open.get(id) ?? { creatorId, connections: new Set(), closedAt: 0, saved: 0 };
    open.set(id, key);
    key.connections.add(connection);
    return key;
  }

  return {
    /** The keys of this creator that programs are connected with, over all nodes. */
    async connected(creatorId: string): Promise<ReadonlySet<string>> {
      const here = [...open].filter(([, key]) => key.creatorId === creatorId).map(([id]) => id);
      // On SQLite this process is the only server.
      const there = db.engine === 'sqlite' ? [] : await repo.openElsewhere(db, creatorId, node, clock() - staleMs);
      return new Set([...here, ...there.map(({ key_id }) => key_id)]);
    },

    /**
     * Opens a connection of the key. Returns the sequence after which it continues; nothing if it begins at the newest
     * event. The caller must call `close` once, also if this fails.
     */
    async open(key: FoundKey, connection: KeyConnection): Promise<number | undefined> {
      const others = [...(open.get(key.id)?.connections ?? [])];
      const opened = join(key, connection);
      const now = clock();
      const [head, isOpen] = await Promise.all([events.head(key.creatorId), isAnyAlive(others), closing.get(key.id)]);
      const row = await db.write(repo.writes.openKey, key.creatorId, key.id, node, now);
      if (!row) return undefined;
      opened.saved = Math.max(opened.saved, row.position);
      if (isOpen || (await isConnectedElsewhere(key, row.others))) return head?.sequence;
      // The last connection may have closed since.
      const position = row.others.length > 0 ? await repo.positionOf(db, key.creatorId, key.id) : row.position;
      const [before, oldest] = await Promise.all([
        events.lastBefore(key.creatorId, now - resumableMs),
        events.oldest(key.creatorId),
      ]);
      return Math.max(position, opened.closedAt, before, (oldest ?? 1) - 1);
    },

    /** The connection has closed, with the program at this position; nothing if it never began. */
    async close({ id, creatorId }: FoundKey, connection: KeyConnection, position: number | undefined): Promise<void> {
      const key = open.get(id);
      if (!key?.connections.delete(connection)) return;
      key.closedAt = Math.max(key.closedAt, position ?? 0);
      if (key.connections.size > 0) return;
      open.delete(id);
      if (open.size === 0) {
        stopWatching?.();
        stopWatching = undefined;
      }
      const row = { creator_id: creatorId, id, position: Math.max(key.closedAt, key.saved) };
      const closed = db.write(repo.writes.closeKey, node, row, clock()).catch(onError);
      closing.set(id, closed);
      await closed;
      if (closing.get(id) === closed) closing.delete(id);
    },
  };
}

async function isAnyAlive(connections: readonly KeyConnection[]): Promise<boolean> {
  const alive = await Promise.all(connections.map(({ isAlive }) => isAlive(aliveWithinMs)));
  return alive.includes(true);
}

const positionOf = ({ connections, closedAt }: OpenKey): number =>
  Math.max(closedAt, ...[...connections].map(({ position }) => position() ?? 0));

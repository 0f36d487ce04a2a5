/**
 * All event connections of this node, whatever their protocol: sockets, SSE, overlays, widgets and programs. Invariants:
 *
 * - A connection joins its creator's stream before its permission is checked and before anything is read, so it misses
 *   no change that follows.
 * - Hints announce new events and changed access at once. A sweep every ten seconds finds what a lost hint hid, creator
 *   by creator and spread over the time. A change by another process wakes all streams.
 * - A connection slot is released once, however a connection ends. A connection that is asked to move releases it at
 *   once, because its client opens the new connection before it closes the old one.
 * - A permission check that fails (the storage is away) closes nothing; the next sweep checks again.
 * - Timers and subscriptions exist only while there is a connection.
 */
import type { ConnectionSlots } from '../../platform/limiter/limiter.ts';
import { createHalfTimePauses } from '../../platform/pauses.ts';
import type { Platform } from '../../platform/platform.ts';
import { createWorkQueue } from '../../platform/work-queue.ts';
import { type EventLog, eventsTopic } from '../events/index.ts';
import { accessTopic } from '../oauth/index.ts';
import type { CloseReason } from './close-reasons.ts';
import { type Connection, keepaliveSeconds } from './connection.ts';
import { CreatorStream } from './creator-stream.ts';
import { createStreamMetrics } from './metrics.ts';
import { type Permitted, Subscriber, type SubscriberOptions } from './subscriber.ts';

const tickMs = 500;
const keepaliveTicks = (keepaliveSeconds * 1000) / tickMs;
const sweepTicks = 10_000 / tickMs;
/** A client that takes no byte for this long is too slow. */
const stalledTicks = 10_000 / tickMs;
/** How many streams are checked concurrently when all of them are. */
const checkConcurrency = 16;
/** How many clients should reconnect to other nodes in a second, and the longest time over which they are spread. */
const movesPerSecond = 250;
const maxSpreadMs = 20_000;
/** How many connections read a page of what they missed at once. */
const catchUpsAtOnce = 4;

export interface StreamsParts extends Pick<Platform, 'db' | 'hub' | 'log' | 'metrics'> {
  readonly slots: ConnectionSlots;
  readonly events: EventLog;
}

export type Streams = ReturnType<typeof createStreams>;

export interface Subscription {
  readonly subscriber: Subscriber;
  /** Resolves to nothing after the welcome, or to the reason of a refusal. Rejects when the storage is away. */
  readonly refusal: Promise<CloseReason | undefined>;
}

/** An open connection of an app. The server has sent it the events after `after`, up to and including `upTo`. */
export interface AppConnection {
  readonly clientId: string;
  readonly kind: SubscriberOptions['kind'];
  readonly after: number;
  readonly upTo: number;
}

interface Entry {
  readonly stream: CreatorStream;
  readonly unsubscribe: () => void;
  ageTicks: number;
}

export function createStreams({ db, hub, slots, events, log, metrics }: StreamsParts) {
  const entries = new Map<string, Entry>();
  const all = new Set<Subscriber>();
  const counters = createStreamMetrics(metrics, all);
  const catchUps = createWorkQueue({ atOnce: catchUpsAtOnce, maxWaiting: Number.POSITIVE_INFINITY });
  const pause = createHalfTimePauses();
  let stopWatching: (() => void) | undefined;
  let moving: { remaining: Set<Subscriber>; done: () => void } | undefined;
  let closed = false;

  const onError = (err: unknown) => log.warn({ err }, 'events could not be read; they follow later');

  function watch(): () => void {
    const timer = setInterval(tick, tickMs).unref();
    const stopAccess = hub.subscribe(accessTopic, (creatorId) => {
      const entry = entries.get(creatorId);
      if (creatorId === '*') void checkAll();
      else if (entry) void check(entry.stream);
    });
    const stopExternal = db.onExternalChange?.(() => {
      for (const { stream } of entries.values()) stream.wake();
      void checkAll();
    });
    return () => {
      clearInterval(timer);
      stopAccess();
      stopExternal?.();
    };
  }

  function tick(): void {
    for (const subscriber of all) subscriber.tick(keepaliveTicks, stalledTicks);
    for (const entry of entries.values()) {
      entry.ageTicks += 1;
      if (entry.ageTicks % sweepTicks !== 0) continue;
      entry.stream.wake();
      void check(entry.stream);
    }
  }

  /** Closes the subscribers that are no longer permitted. */
  async function check(stream: CreatorStream): Promise<void> {
    const checks = new Map<string, Permitted | Promise<Permitted>>();
    for (const subscriber of [...stream.subscribers]) {
      const { key, isAllowed } = subscriber.options.permission;
      try {
        const allowed = checks.get(key) ?? isAllowed();
        checks.set(key, allowed);
        if (!subscriber.permit(await allowed)) subscriber.close('grant_ended');
      } catch (err) {
        log.warn({ err }, 'permissions could not be checked; the next sweep checks them again');
      }
    }
  }

  async function checkAll(): Promise<void> {
    const remaining = entries.values();
    const work = async () => {
      for (const { stream } of remaining) await check(stream);
    };
    await Promise.all(Array.from({ length: checkConcurrency }, work));
  }

  function entryOf(creatorId: string): Entry {
    const known = entries.get(creatorId);
    if (known) return known;
    const stream = new CreatorStream({ creatorId, events, catchUps, pause, onSent: counters.sent, onError });
    const unsubscribe = hub.subscribe(eventsTopic(creatorId), (sequence) => stream.wake(Number(sequence)));
    const entry = { stream, unsubscribe, ageTicks: Math.floor(Math.random() * sweepTicks) };
    entries.set(creatorId, entry);
    return entry;
  }

  function join(options: SubscriberOptions, connection: Connection) {
    stopWatching ??= watch();
    const { stream } = entryOf(options.creatorId);
    const subscriber = new Subscriber(options, connection, leave);
    stream.subscribers.add(subscriber);
    all.add(subscriber);
    return { subscriber, stream };
  }

  function leave(subscriber: Subscriber, reason: CloseReason | undefined): void {
    if (reason) counters.closed(reason);
    const { creatorId } = subscriber.options;
    const entry = entries.get(creatorId);
    entry?.stream.remove(subscriber);
    if (entry?.stream.subscribers.size === 0) {
      entry.unsubscribe();
      entries.delete(creatorId);
    }
    releaseSlot(subscriber);
    all.delete(subscriber);
    if (moving?.remaining.delete(subscriber) && moving.remaining.size === 0) moving.done();
    if (all.size > 0) return;
    stopWatching?.();
    stopWatching = undefined;
  }

  function releaseSlot(subscriber: Subscriber): void {
    if (!subscriber.holdsSlot) return;
    subscriber.holdsSlot = false;
    slots.release(subscriber.options.slots.key);
  }

  /** SSE is accepted until the server closes: its clients give up when refused. */
  const isGoingAway = ({ options }: Subscriber) => closed || (moving !== undefined && options.kind !== 'stream');

  async function admit(subscriber: Subscriber): Promise<CloseReason | undefined> {
    const { permission, slots: wanted } = subscriber.options;
    if (isGoingAway(subscriber)) return 'restart';
    if (!subscriber.permit(await permission.isAllowed())) return 'grant_ended';
    if (subscriber.closed) return undefined;
    if (!(await slots.acquire(wanted.key, wanted.max))) return 'too_many';
    subscriber.holdsSlot = true;
    // Both may have changed during the wait.
    if (subscriber.closed) releaseSlot(subscriber);
    else if (isGoingAway(subscriber)) return 'restart';
    return undefined;
  }

  return {
    /** Joins the creator's stream at once. The caller must call `subscriber.leave` when the client is gone. */
    subscribe(options: SubscriberOptions, connection: Connection, after: number | undefined): Subscription {
      const { subscriber, stream } = join(options, connection);
      const refusal = admit(subscriber).then(async (reason) => {
        if (!reason) await stream.start(subscriber, after);
        return reason;
      });
      refusal.then(
        (reason) => reason && subscriber.leave(reason),
        () => subscriber.leave('restart'),
      );
      return { subscriber, refusal };
    },

    /** Counts a connection that was refused before it joined a stream. */
    refused: (reason: CloseReason): void => counters.closed(reason),

    /** How many of a creator's connections of a kind are open on this node. */
    connected(creatorId: string, kind: SubscriberOptions['kind']): number {
      const subscribers = entries.get(creatorId)?.stream.subscribers ?? [];
      return [...subscribers].filter(({ options }) => options.kind === kind).length;
    },

    /** The connections of apps to a creator's events that are open on this node. */
    ofApps(creatorId: string): AppConnection[] {
      const subscribers = entries.get(creatorId)?.stream.subscribers ?? [];
      return [...subscribers].flatMap(({ options: { clientId, kind }, startedAfter, cursor }) =>
        clientId === undefined ? [] : [{ clientId, kind, after: startedAfter, upTo: cursor }],
      );
    },

    /** Asks all clients to move to another node, spread over some time, and waits until they have or `withinMs` is over. */
    async move(withinMs: number): Promise<void> {
      const spreadMs = Math.min(maxSpreadMs, withinMs, (all.size * 1000) / movesPerSecond);
      const asked = [...all].filter(({ connection }) => connection.reconnect(Math.floor(Math.random() * spreadMs)));
      for (const subscriber of asked) releaseSlot(subscriber);
      await new Promise<void>((resolve) => {
        moving = { remaining: new Set(asked), done: resolve };
        setTimeout(resolve, withinMs).unref();
        if (asked.length === 0) resolve();
      });
    },

    close(): void {
      closed = true;
      for (const subscriber of [...all]) subscriber.close('restart');
    },
  };
}

/**
 * All event connections of this node, whatever they speak: the engine of socket, SSE and overlay. Invariants:
 *
 * - A connection joins its creator's feed before it is asked for its pass and before anything is read, so no change
 *   that follows goes unnoticed.
 * - Hints bring news and ends at once. A sweep every ten seconds finds what a lost hint hid, creator by creator and
 *   spread over the time. A change by another process wakes everybody.
 * - A place is given back once, however a connection ends, and by one that has to move as soon as it is asked to: the
 *   new connection comes before the old one goes.
 * - A pass that cannot be looked at (the storage is away) ends nobody; the next sweep asks again.
 * - Timers and subscriptions exist only while there is a connection.
 */
import type { Database } from '../../platform/db/database.ts';
import type { Hub } from '../../platform/hub/hub.ts';
import type { ConnectionSlots } from '../../platform/limiter/limiter.ts';
import type { Log } from '../../platform/log.ts';
import type { Metrics } from '../../platform/metrics.ts';
import { type EventLog, eventsTopic } from '../events/index.ts';
import { accessTopic } from '../oauth/index.ts';
import type { CloseReason } from './close-reasons.ts';
import { Feed } from './feed.ts';
import { Member, type MemberOptions, type Opening, type Wire } from './member.ts';
import { createStreamMetrics } from './metrics.ts';

const tickMs = 500;
const keepaliveTicks = 25_000 / tickMs;
const sweepTicks = 10_000 / tickMs;
/** So long may bytes wait without one of them being taken. */
const stuckTicks = 10_000 / tickMs;
/** How many creators are looked at side by side when all of them are. */
const atOnce = 16;
/** New connections a second that a move to other nodes should cost them, and the longest it may take. */
const movesPerSecond = 250;
const longestSpreadMs = 20_000;

export interface StreamsParts {
  readonly db: Database;
  readonly hub: Hub;
  readonly slots: ConnectionSlots;
  readonly events: EventLog;
  readonly log: Log;
  readonly metrics: Metrics;
}

export type Streams = ReturnType<typeof createStreams>;

interface Entry {
  readonly feed: Feed;
  readonly unsubscribe: () => void;
  age: number;
}

export function createStreams({ db, hub, slots, events, log, metrics }: StreamsParts) {
  const entries = new Map<string, Entry>();
  const all = new Set<Member>();
  const meters = createStreamMetrics(metrics, all);
  let stopWatching: (() => void) | undefined;
  let moving: { movers: Set<Member>; done: () => void } | undefined;
  let closed = false;

  const onError = (err: unknown) => log.warn({ err }, 'events could not be read; they follow later');

  function watch(): () => void {
    const timer = setInterval(tick, tickMs).unref();
    const stopAccess = hub.subscribe(accessTopic, (creatorId) => {
      const entry = entries.get(creatorId);
      if (creatorId === '*') void checkAll();
      else if (entry) void check(entry.feed);
    });
    const stopExternal = db.onExternalChange?.(() => {
      for (const { feed } of entries.values()) feed.wake();
      void checkAll();
    });
    return () => {
      clearInterval(timer);
      stopAccess();
      stopExternal?.();
    };
  }

  function tick(): void {
    for (const member of all) member.tick(keepaliveTicks, stuckTicks);
    for (const entry of entries.values()) {
      entry.age += 1;
      if (entry.age % sweepTicks !== 0) continue;
      entry.feed.wake();
      void check(entry.feed);
    }
  }

  /** Ends the members that may not go on. */
  async function check(feed: Feed): Promise<void> {
    const verdicts = new Map<string, boolean | Promise<boolean>>();
    for (const member of [...feed.members]) {
      const { key } = member.options.pass;
      try {
        const asked = verdicts.get(key) ?? member.options.pass.allowed();
        verdicts.set(key, asked);
        if (!(await asked)) member.end('grant_ended');
      } catch (err) {
        log.warn({ err }, 'access could not be looked at; it will be again');
      }
    }
  }

  async function checkAll(): Promise<void> {
    const rest = entries.values();
    const work = async () => {
      for (const { feed } of rest) await check(feed);
    };
    await Promise.all(Array.from({ length: atOnce }, work));
  }

  function entryOf(creatorId: string): Entry {
    const known = entries.get(creatorId);
    if (known) return known;
    const feed = new Feed({ creatorId, events, onSent: meters.sent, onError });
    const unsubscribe = hub.subscribe(eventsTopic(creatorId), (sequence) => feed.wake(Number(sequence)));
    const entry = { feed, unsubscribe, age: Math.floor(Math.random() * sweepTicks) };
    entries.set(creatorId, entry);
    return entry;
  }

  function join(options: MemberOptions, wire: Wire): { member: Member; feed: Feed } {
    stopWatching ??= watch();
    const { feed } = entryOf(options.creatorId);
    const member = new Member(options, wire, leave);
    feed.members.add(member);
    all.add(member);
    return { member, feed };
  }

  function leave(member: Member, reason: CloseReason | undefined): void {
    if (reason) meters.ended(reason);
    const { creatorId } = member.options;
    const entry = entries.get(creatorId);
    entry?.feed.remove(member);
    if (entry?.feed.members.size === 0) {
      entry.unsubscribe();
      entries.delete(creatorId);
    }
    giveBack(member);
    all.delete(member);
    if (moving?.movers.delete(member) && moving.movers.size === 0) moving.done();
    if (all.size > 0) return;
    stopWatching?.();
    stopWatching = undefined;
  }

  function giveBack(member: Member): void {
    if (!member.counted) return;
    member.counted = false;
    slots.release(member.options.slot.key);
  }

  /** Streams are let in to the last: their clients give up when refused. */
  const goingAway = ({ options }: Member) => closed || (moving !== undefined && options.kind !== 'stream');

  /** Why a connection cannot be had, or nothing. */
  async function refusal(member: Member): Promise<CloseReason | undefined> {
    const { pass, slot } = member.options;
    if (goingAway(member)) return 'restart';
    if (!(await pass.allowed())) return 'grant_ended';
    if (member.gone) return undefined;
    if (!(await slots.acquire(slot.key, slot.most))) return 'too_many';
    member.counted = true;
    // Much may have happened meanwhile.
    if (member.gone) giveBack(member);
    else if (goingAway(member)) return 'restart';
    return undefined;
  }

  return {
    /**
     * Joins the feed at once; `opened` tells how that went: nothing, or why not. It rejects when the storage is away.
     * Whoever opened the connection calls `member.leave` when the peer is gone.
     */
    open(options: MemberOptions, wire: Wire, after: number | undefined): Opening {
      const { member, feed } = join(options, wire);
      const opened = refusal(member).then(async (refused) => {
        if (!refused) await feed.start(member, after);
        return refused;
      });
      opened.then(
        (refused) => refused && member.leave(refused),
        () => member.leave(),
      );
      return { member, opened };
    },

    /** How many of a creator's connections of a kind are open on this node. */
    connected(creatorId: string, kind: MemberOptions['kind']): number {
      const members = entries.get(creatorId)?.feed.members ?? [];
      return [...members].filter(({ options }) => options.kind === kind).length;
    },

    /** Asks everyone to move to another node, spread over a while, and waits until they have, at most so long. */
    async move(withinMs: number): Promise<void> {
      const spreadMs = Math.min(longestSpreadMs, withinMs, (all.size * 1000) / movesPerSecond);
      const movers = new Set([...all].filter(({ wire }) => wire.reconnect(Math.floor(Math.random() * spreadMs))));
      for (const member of movers) giveBack(member);
      await new Promise<void>((resolve) => {
        moving = { movers, done: resolve };
        setTimeout(resolve, withinMs).unref();
        if (movers.size === 0) resolve();
      });
    },

    /** Ends every connection. */
    close(): void {
      closed = true;
      for (const member of [...all]) member.end('restart');
    },
  };
}

/**
 * Sends what is due, each endpoint in a lane of its own, so that one dead receiver never slows another.
 *
 * - A lane has a few requests under way at a time: one at first, more as answers come, one again when none came.
 * - All lanes share a fixed number of slots, of which those whose receiver does not answer get at most half.
 * - What changes while a claim is on its way from the database holds for it too.
 * - A claim that could not be sent and settled within its lease is given back.
 */
import type { Clock } from '../../platform/clock.ts';
import type { Answer, SafeFetch } from '../../platform/safe-fetch.ts';
import type { Claim, Claimed } from './claims.ts';
import type { Settler } from './settle.ts';
import { signedHeaders } from './signature.ts';

export interface LanesParts {
  readonly clock: Clock;
  readonly claim: Claim;
  readonly fetch: SafeFetch;
  readonly settler: Settler;
  readonly onAnswer: (answer: Answer) => void;
  /** A lane that was full has room again. */
  readonly onRoom: (endpointId: string) => void;
  readonly onError: (error: unknown) => void;
}

interface Lane {
  readonly endpointId: string;
  readonly queue: Claimed[];
  /** How many may be under way. */
  width: number;
  /** Its receiver did not answer the last time. */
  slow: boolean;
  fresh: boolean;
  underWay: number;
  /** How long an answer takes, the last ones counting most. */
  answerMs: number;
  claiming: boolean;
  /** There may be more to claim. */
  more: boolean;
  /** Somebody found it full. */
  wanted: boolean;
}

/** Hands deliveries that were claimed to their endpoint's lane. */
export type Take = (endpointId: string, claimed: readonly Claimed[]) => void;
type Recall = (claimed: Claimed) => boolean;

export type Lanes = ReturnType<typeof createLanes>;

const widest = 16;
/**
 * How many a lane holds ahead of sending them, so that it never waits for the database: what it sends in `aheadMs`
 * at its present pace, which is well within a lease.
 */
const ahead = { least: 32, most: 2_048 };
const aheadMs = 5_000;
/** What an answer is taken to need before there was one. */
const unknownMs = 600;
/** What an attempt and its settlement may take. */
const neededMs = 17_000;
const slots = 512;
const slowSlots = slots / 2;

const aheadOf = ({ answerMs }: Pick<Lane, 'answerMs'>): number =>
  Math.round(Math.min(ahead.most, Math.max(ahead.least, (widest * aheadMs) / answerMs)));

export function createLanes({ clock, claim, fetch, settler, onAnswer, onRoom, onError }: LanesParts) {
  const lanes = new Map<string, Lane>();
  /** Lanes that found no slot, first come first served. */
  const waiting = new Set<Lane>();
  const waitingSlow = new Set<Lane>();
  /** For each claim that is on its way, what was recalled since. */
  const coming = new Set<Recall[]>();
  let [used, usedSlow] = [0, 0];
  let stopped = false;
  let onQuiet: (() => void)[] = [];

  function laneOf(endpointId: string): Lane {
    const lane = lanes.get(endpointId) ?? {
      endpointId,
      queue: [],
      width: 1,
      slow: false,
      fresh: true,
      underWay: 0,
      answerMs: unknownMs,
      claiming: false,
      more: false,
      wanted: false,
    };
    lanes.set(endpointId, lane);
    return lane;
  }

  function pump(lane: Lane): void {
    while (!stopped && lane.queue.length > 0 && lane.underWay < lane.width) {
      if (used >= slots || (lane.slow && usedSlow >= slowSlots)) {
        (lane.slow ? waitingSlow : waiting).add(lane);
        return;
      }
      void send(lane, lane.queue.shift()!);
    }
    if (!stopped && lane.more && !lane.claiming && isLow(lane)) void refill(lane);
    if (lane.wanted && !isFull(lane)) {
      lane.wanted = false;
      onRoom(lane.endpointId);
    }
    if (onQuiet.length > 0 && isQuiet(lane)) quiet();
  }

  /** A slow lane claims one delivery after another, so that none waits past its lease. */
  const isLow = (lane: Lane): boolean =>
    lane.slow ? lane.queue.length + lane.underWay === 0 : lane.queue.length < aheadOf(lane) / 2;

  const isFull = (lane: Lane): boolean => !stopped && !lane.slow && lane.queue.length >= aheadOf(lane) / 2;

  async function refill(lane: Lane): Promise<void> {
    lane.claiming = true;
    lane.more = false;
    try {
      await claiming(async (take) => {
        const { claimed, more, failing } = await claim(lane.endpointId, lane.slow ? 1 : aheadOf(lane));
        lane.more ||= more;
        if (lane.fresh) lane.slow = failing;
        lane.fresh = false;
        take(lane.endpointId, claimed);
      });
    } catch (error) {
      onError(error);
    } finally {
      lane.claiming = false;
    }
    pump(lane);
  }

  /** Whatever claims deliveries does it in here. */
  async function claiming(work: (take: Take) => Promise<void>): Promise<void> {
    const recalled: Recall[] = [];
    coming.add(recalled);
    try {
      await work((endpointId, claimed) => arrive(endpointId, claimed, recalled));
    } finally {
      coming.delete(recalled);
    }
  }

  function arrive(endpointId: string, claimed: readonly Claimed[], recalled: readonly Recall[]): void {
    if (claimed.length === 0) return;
    const lane = laneOf(endpointId);
    lane.queue.push(...claimed);
    for (const concerned of recalled) giveBack(lane, concerned);
    if (stopped) release(lane);
    pump(lane);
  }

  function giveBack(lane: Lane, concerned: Recall): void {
    const back = lane.queue.filter(concerned);
    if (back.length === 0) return;
    lane.queue.splice(0, lane.queue.length, ...lane.queue.filter((claimed) => !concerned(claimed)));
    for (const claimed of back) settler.release(claimed);
    lane.more = true;
  }

  /** Gives back what waits here: it is due at once, for this node or another. */
  function release(lane: Lane): void {
    for (const claimed of lane.queue.splice(0)) settler.release(claimed);
    lane.more = true;
  }

  async function send(lane: Lane, claimed: Claimed): Promise<void> {
    const at = clock();
    if (claimed.leaseUntil - at < neededMs) {
      settler.release(claimed);
      lane.more = true;
      return;
    }
    const countsSlow = lane.slow;
    lane.underWay += 1;
    used += 1;
    if (countsSlow) usedSlow += 1;
    const started = performance.now();
    const answer = await fetch.post({
      url: claimed.url,
      headers: signedHeaders(claimed.keys, claimed.event_id, at, claimed.body),
      body: claimed.body,
    });
    const durationMs = performance.now() - started;
    settler.ended({ claimed, at, endedAt: clock(), durationMs, answer });
    lane.answerMs += (durationMs - lane.answerMs) / widest;
    onAnswer(answer);
    lane.slow = answer.timedOut;
    lane.width = answer.timedOut ? 1 : Math.min(widest, lane.width * 2);
    if (lane.slow) release(lane);
    lane.underWay -= 1;
    used -= 1;
    if (countsSlow) usedSlow -= 1;
    pump(lane);
    letIn(waiting, () => used < slots);
    letIn(waitingSlow, () => used < slots && usedSlow < slowSlots);
  }

  /** A lane that takes no slot has nothing to send, or waits with the others again. */
  function letIn(lanes: Set<Lane>, isRoom: () => boolean): void {
    for (const lane of [...lanes].slice(0, 4)) {
      if (!isRoom()) return;
      lanes.delete(lane);
      pump(lane);
    }
  }

  const isQuiet = (lane: Lane): boolean =>
    lane.underWay === 0 && !lane.claiming && (stopped || (!lane.more && lane.queue.length === 0));

  function quiet(): void {
    if (![...lanes.values()].every(isQuiet)) return;
    for (const resolve of onQuiet.splice(0)) resolve();
  }

  function idle(): Promise<void> {
    if ([...lanes.values()].every(isQuiet)) return Promise.resolve();
    return new Promise((resolve) => {
      onQuiet.push(resolve);
    });
  }

  return {
    /** Something of this endpoint is due. */
    kick(endpointId: string): void {
      if (stopped) return;
      const lane = laneOf(endpointId);
      lane.more = true;
      pump(lane);
    },

    /** Gives back what waits here and might not be sent as it was claimed: its grant or its endpoint has changed. */
    recall(concerned: Recall): void {
      for (const lane of lanes.values()) giveBack(lane, concerned);
      for (const recalled of coming) recalled.push(concerned);
    },

    /** It has enough to send for now. Then `onRoom` tells when that is over, also because its receiver stopped answering. */
    isFull(endpointId: string): boolean {
      const lane = lanes.get(endpointId);
      if (!lane || !isFull(lane)) return false;
      lane.wanted = true;
      return true;
    },

    /** How many fresh deliveries this endpoint's lane would take without a claim of its own. */
    room(endpointId: string): number {
      const lane = lanes.get(endpointId);
      if (stopped || lane?.slow) return 0;
      return lane ? Math.max(0, aheadOf(lane) - lane.queue.length) : aheadOf({ answerMs: unknownMs });
    },

    claiming,

    /** Forgets lanes that have nothing to do. */
    tidy(): void {
      for (const [id, lane] of lanes) if (!lane.slow && isQuiet(lane)) lanes.delete(id);
    },

    /** Nothing is under way and nothing was known to be due. */
    idle,

    /** Ends what is under way, and gives back what was not sent. */
    async stop(): Promise<void> {
      stopped = true;
      for (const lane of lanes.values()) release(lane);
      await idle();
      onQuiet = [];
    },
  };
}

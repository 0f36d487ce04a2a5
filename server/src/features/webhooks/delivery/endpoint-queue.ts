/**
 * The queue of one endpoint: lease → send → settle. Each endpoint has its own, so that one dead receiver never slows
 * another.
 *
 * - The number of concurrent requests starts at one, doubles after each answer, and returns to one after a timeout.
 * - All queues share a fixed number of request slots (request-slots.ts), of which slow queues (the last request timed out)
 *   get at most half, and the queues of one owner an eighth.
 * - A queue leases as many deliveries ahead as it sends in `aheadMs` at its current rate, so that it never waits for the
 *   database. A slow queue leases one delivery at a time, so that no lease expires in the queue. The queues of one owner
 *   have a bounded number of deliveries in memory (`ofOwner`): 200 endpoints would have 100,000.
 * - A lease is one write of few rows, and few queues lease at once, in turn between owners (`createLeaseQueue`), so that
 *   other writes do not wait for those of hundreds of queues.
 * - A delivery whose lease is outdated or about to expire is released, not sent.
 * - A receiver that asks for a pause gets nothing until it ends: what waits is due then, and the worker's poll finds it.
 */
import type { Platform } from '../../../platform/platform.ts';
import { createWorkQueue, type WorkQueue } from '../../../platform/work-queue.ts';
import type { Leases } from './leases.ts';
import { type Lease, type LeasedDelivery, type SendingEndpoint, writes } from './repo.ts';
import type { RequestSlots, SlotRequest } from './request-slots.ts';
import type { QueuedDelivery, Settler } from './settle.ts';
import { type Target, targetOf } from './target.ts';
import type { Kinds, Sent } from './transport.ts';
import type { Verdict } from './verdict.ts';
import type { WaitingCounts } from './waiting-counts.ts';

export interface QueueParts extends Pick<Platform, 'db' | 'clock' | 'vault'> {
  readonly kinds: Kinds;
  readonly leases: Leases;
  readonly slots: RequestSlots;
  readonly leaseQueue: WorkQueue;
  readonly waiting: WaitingCounts;
  readonly settler: Settler;
  /** The session of this endpoint's socket, if the endpoint is a listener whose socket is open at this node. */
  readonly sessionOf: (endpointId: string) => string | null;
  readonly onError: (error: unknown) => void;
}

/** As many as one endpoint gets at once over HTTP. */
export const usualRequests = 16;
const ahead = { min: 32, max: 512 };
/** Of an owner with many endpoints: what all of them have in memory, and what each may have beyond that. */
const ofOwner = { ahead: 2_048, each: 16 };
/** How many deliveries one write leases. */
const leasedAtOnce = 128;

export const createLeaseQueue = (): WorkQueue => createWorkQueue({ atOnce: 4, maxWaiting: Number.POSITIVE_INFINITY });

/** So many pauses in a row are as long as the receiver says; each further one is longer, up to a bound. */
const usualPauses = 3;
const maxAddedPauseMs = 300_000;

/** Well below `leaseMs`. */
const aheadMs = 5_000;
/** So long after the last answer a queue is kept only because its receiver was slow or asked for a pause. */
const keptMs = 3_600_000;
/** The assumed time of an answer before the first one. */
const initialAnswerMs = 600;

export class EndpointQueue {
  readonly #endpointId: string;
  readonly #parts: QueueParts;
  readonly #waiting: QueuedDelivery[] = [];
  #target: Target | undefined;
  #requestsAllowed = 1;
  #requests = 0;
  #slow = false;
  #pause = { from: 0, until: 0 };
  /** How many answers in a row asked for a pause. */
  #pauses = 0;
  #answeredAt = 0;
  /** The moving average of the time to an answer. */
  #answerMs = initialAnswerMs;
  #leasing = false;
  /** More deliveries may be due than are leased. */
  #more = false;
  #stopped = false;
  #hasRoom: PromiseWithResolvers<void> | undefined;
  #idle: PromiseWithResolvers<void> | undefined;

  constructor(endpointId: string, parts: QueueParts) {
    this.#endpointId = endpointId;
    this.#parts = parts;
  }

  /** Adds deliveries that were leased for this endpoint. */
  add(endpoint: SendingEndpoint, deliveries: readonly LeasedDelivery[], lease: Lease): void {
    if (!this.#target) this.#slow = endpoint.failing_since !== null;
    // A lease that was requested before a change may arrive after one that was requested later.
    if (!this.#target || lease.changes >= this.#target.changes)
      this.#target = targetOf(endpoint, lease.changes, this.#parts.clock(), this.#parts, this.#target);
    for (const delivery of deliveries) this.#waiting.push({ endpointId: this.#endpointId, delivery, lease });
    this.#count(deliveries.length);
    if (this.#stopped) this.#releaseAll();
    this.#run();
  }

  /** Deliveries may be due. */
  wake(): void {
    if (!this.#isPaused) this.#more = true;
    this.#run();
  }

  /** Releases the deliveries whose lease is outdated. */
  recheck(): void {
    for (const queued of this.#removeAll())
      if (this.#parts.leases.isValid(queued)) this.#waiting.push(queued);
      else this.#release(queued);
    this.#count(this.#waiting.length);
    this.#run();
  }

  /** How many deliveries the queue can take now. */
  get room(): number {
    return this.#stopped || this.#slow || this.#isPaused ? 0 : Math.max(0, this.#ahead() - this.#waiting.length);
  }

  /** A slow or paused queue is never full, so that the dispatcher does not wait for it. */
  get isFull(): boolean {
    return !this.#stopped && !this.#slow && !this.#isPaused && this.#waiting.length >= this.#ahead() / 2;
  }

  /** Resolves once the queue is not full. */
  hasRoom(): Promise<void> {
    if (!this.isFull) return Promise.resolve();
    this.#hasRoom ??= Promise.withResolvers();
    return this.#hasRoom.promise;
  }

  /** No request is in flight, and no delivery is known to be due. */
  get isIdle(): boolean {
    const isDone = this.#stopped || (!this.#more && this.#waiting.length === 0);
    return isDone && this.#requests === 0 && !this.#leasing;
  }

  idle(): Promise<void> {
    if (this.isIdle) return Promise.resolve();
    this.#idle ??= Promise.withResolvers();
    return this.#idle.promise;
  }

  /** A slow or paused queue is kept for a while: a new one would have to find that out again. */
  get isRemovable(): boolean {
    const isRecent = this.#isPaused || this.#parts.clock() < this.#answeredAt + keptMs;
    const isKept = this.#target && (this.#slow || this.#pauses > 0) && isRecent;
    return this.isIdle && !isKept;
  }

  /** Waits for requests in flight and releases the other deliveries. */
  stop(): Promise<void> {
    this.#stopped = true;
    this.#releaseAll();
    this.#run();
    return this.idle();
  }

  /** A clock that was set back ends a pause. */
  get #isPaused(): boolean {
    const now = this.#parts.clock();
    return now >= this.#pause.from && now < this.#pause.until;
  }

  #ahead(): number {
    if (!this.#target) return ofOwner.each;
    const wanted = Math.round(Math.min(ahead.max, Math.max(ahead.min, (usualRequests * aheadMs) / this.#answerMs)));
    const ofOthers = this.#parts.waiting.of(this.#target.owner) - this.#waiting.length;
    return Math.max(ofOwner.each, Math.min(wanted, ofOwner.ahead - ofOthers));
  }

  #count(change: number): void {
    if (this.#target) this.#parts.waiting.add(this.#target.owner, change);
  }

  #removeAll(): QueuedDelivery[] {
    this.#count(-this.#waiting.length);
    return this.#waiting.splice(0);
  }

  /** Sends, leases and resolves waiters, as far as possible now. Called after each change. */
  readonly #run = (): void => {
    if (this.#isPaused) this.#postponeAll();
    while (!this.#stopped && this.#target && this.#requests < this.#requestsAllowed) {
      const next = this.#waiting[0];
      if (!next) break;
      const isValid = this.#parts.leases.isValid(next);
      const slot = { owner: this.#target.owner, slow: this.#slow };
      if (isValid && !this.#parts.slots.acquire(slot, this.#run)) break;
      this.#waiting.shift();
      this.#count(-1);
      if (isValid) void this.#send(next, this.#target, slot);
      else this.#release(next);
    }
    const isLow = this.#slow ? this.#waiting.length + this.#requests === 0 : this.#waiting.length < this.#ahead() / 2;
    if (this.#more && isLow && !this.#leasing && !this.#stopped) void this.#lease();
    if (this.#hasRoom && !this.isFull) {
      this.#hasRoom.resolve();
      this.#hasRoom = undefined;
    }
    if (this.#idle && this.isIdle) {
      this.#idle.resolve();
      this.#idle = undefined;
    }
  };

  async #lease(): Promise<void> {
    const { db, leases, leaseQueue, sessionOf, onError } = this.#parts;
    this.#leasing = true;
    this.#more = false;
    try {
      await leaseQueue.runAdmitted(this.#target?.owner ?? this.#endpointId, async () => {
        const lease = leases.create();
        const limit = this.#slow ? 1 : Math.min(leasedAtOnce, this.#ahead());
        const session = sessionOf(this.#endpointId);
        const due = await db.write(writes.leaseDue, this.#endpointId, limit, lease, session);
        const { endpoint, deliveries, more } = due;
        if (endpoint) this.add(endpoint, deliveries, lease);
        else this.#forgetTarget();
        // Not if its secret cannot be opened: the rest would be leased at once, one batch after another.
        this.#more ||= more;
      });
    } catch (error) {
      onError(error);
    }
    this.#leasing = false;
    this.#run();
  }

  async #send(queued: QueuedDelivery, target: Target, slot: SlotRequest): Promise<void> {
    const { clock, leases, slots, settler } = this.#parts;
    const { judge, maxRequests } = target.kind;
    this.#requests += 1;
    await slots.mayBegin();
    const at = clock();
    const started = performance.now();
    // Access may have ended while the request waited for its turn.
    const answer = leases.isValid(queued) ? await this.#request(queued, target, at) : 'unsent';
    const durationMs = performance.now() - started;
    this.#requests -= 1;
    if (answer === 'unsent') this.#release(queued);
    else if ('postponedMs' in answer) settler.release(queued, clock() + answer.postponedMs);
    else {
      const verdict = this.#lengthen(judge(answer));
      settler.settle(queued, { at, durationMs: answer.durationMs ?? durationMs, answer, verdict });
      if (verdict.outcome === 'paused') this.#pause = { from: clock(), until: clock() + verdict.pauseMs };
      this.#answeredAt = clock();
      this.#answerMs += (durationMs - this.#answerMs) / usualRequests;
      this.#slow = answer.timedOut;
      this.#requestsAllowed = answer.timedOut ? 1 : Math.min(maxRequests, this.#requestsAllowed * 2);
      if (this.#slow) this.#releaseAll();
    }
    slots.release(slot, this.#run);
  }

  /** A receiver that asks for one pause after another may refuse all of this server if it goes on at that pace. */
  #lengthen(verdict: Verdict): Verdict {
    this.#pauses = verdict.outcome === 'paused' ? this.#pauses + 1 : 0;
    const beyond = this.#pauses - usualPauses;
    if (beyond <= 0) return verdict;
    return { ...verdict, pauseMs: verdict.pauseMs + Math.min(1000 * 2 ** beyond, maxAddedPauseMs) };
  }

  /** A format that throws, because of its own mistake, fails this attempt and nothing else. */
  async #request({ delivery }: QueuedDelivery, target: Target, at: number): Promise<Sent> {
    const { kind, url, format } = target;
    try {
      const ids = { creatorId: delivery.creator_id, endpointId: this.#endpointId, deliveryId: delivery.id };
      return await kind.transport.send({ ...ids, url, ...format(delivery, at) });
    } catch (error) {
      this.#parts.onError(error);
      return { status: null, error: 'the message could not be written', body: null, retryAfter: null, timedOut: false };
    }
  }

  #release(queued: QueuedDelivery): void {
    this.#parts.settler.release(queued);
    this.#more = true;
  }

  #releaseAll(): void {
    for (const queued of this.#removeAll()) this.#release(queued);
  }

  /** The endpoint was removed, or it is a listener whose socket is not open at this node. */
  #forgetTarget(): void {
    this.#releaseAll();
    this.#target = undefined;
  }

  #postponeAll(): void {
    for (const queued of this.#removeAll()) this.#parts.settler.release(queued, this.#pause.until);
    this.#more = false;
  }
}

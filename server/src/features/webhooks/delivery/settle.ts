/**
 * Records what became of deliveries. Those that end together share one transaction.
 * While the storage cannot write, settlements are kept until their lease has ended and somebody else may send.
 */
import { Counter, type Registry } from 'prom-client';
import { toTimestamp } from '../../../platform/clock.ts';
import type { Platform } from '../../../platform/platform.ts';
import type { Answer } from '../../../platform/safe-fetch.ts';
import { type Lease, type LeasedDelivery, type Settlement, settlementsText, writes } from './repo.ts';

/** One entry of a delivery's list, as the API shows it. */
interface Attempt {
  at: string;
  status_code: number | null;
  duration_ms: number;
  error: string | null;
  response_body: string | null;
}

/** A delivery in memory, ready to be sent. */
export interface QueuedDelivery {
  readonly endpointId: string;
  readonly delivery: LeasedDelivery;
  readonly lease: Lease;
}

export interface SentAttempt {
  readonly at: number;
  readonly durationMs: number;
  readonly answer: Answer;
}

export interface SettlerParts extends Pick<Platform, 'db' | 'clock'> {
  readonly metrics: { readonly registry: Registry };
  readonly random: () => number;
  readonly onError: (error: unknown) => void;
}

export type Settler = ReturnType<typeof createSettler>;

const batchSize = 500;
/** Nobody waits for a settlement, so a batch waits for more: the longer a commit takes, the longer the next wait. */
const batchWaitMs = { least: 20, most: 50, perCommit: 4 };
const retryMs = 1000;
/** Retries by hand have no end, but the list has. */
const attemptsKept = 20;

interface Pending {
  readonly settlement: Settlement;
  readonly leaseUntil: number;
  readonly outcome: 'answered' | 'gone' | 'released';
}

export function createSettler({ db, clock, random, metrics, onError }: SettlerParts) {
  const attempts = new Counter({
    name: 'namjai_webhook_attempts_total',
    help: 'Webhook requests sent',
    labelNames: ['result'],
    registers: [metrics.registry],
  });
  const [succeeded, failed] = [attempts.labels('succeeded'), attempts.labels('failed')];
  let pending: Pending[] = [];
  let running: Promise<void> | undefined;
  let batchWait = batchWaitMs.least;

  function add({ lease }: QueuedDelivery, settlement: Settlement, outcome: Pending['outcome']): void {
    pending.push({ settlement, leaseUntil: lease.until, outcome });
    running ??= wait(batchWait).then(run);
  }

  async function run(): Promise<void> {
    while (pending.length > 0) {
      const batch = pending.splice(0, batchSize);
      const started = performance.now();
      try {
        await db.write(writes.settle, {
          text: settlementsText(batch.map(({ settlement }) => settlement)),
          gone: idsOf(batch, 'gone'),
          released: idsOf(batch, 'released'),
          now: clock(),
        });
        const took = performance.now() - started;
        batchWait = Math.min(batchWaitMs.most, Math.max(batchWaitMs.least, took * batchWaitMs.perCommit));
        if (pending.length > 0 && pending.length < batchSize) await wait(batchWait);
      } catch (error) {
        onError(error);
        await wait(retryMs);
        pending = [...batch.filter(({ leaseUntil }) => leaseUntil > clock()), ...pending];
      }
    }
    running = undefined;
  }

  return {
    /** The attempt is over. */
    settle(queued: QueuedDelivery, sent: SentAttempt): void {
      (isSuccess(sent.answer) ? succeeded : failed).inc();
      add(queued, settlementOf(queued, sent, clock(), random), sent.answer.status === 410 ? 'gone' : 'answered');
    },

    /** The delivery was not sent: anybody can have it at once. */
    release(queued: QueuedDelivery): void {
      const { id, attempts, tries } = queued.delivery;
      const { endpointId, lease } = queued;
      const settlement: Settlement = {
        endpointId,
        id,
        lease: lease.token,
        attempts,
        tries,
        status: 'pending',
        dueAt: clock(),
      };
      add(queued, settlement, 'released');
    },

    async idle(): Promise<void> {
      while (running) await running;
    },
  };
}

const idsOf = (batch: readonly Pending[], wanted: Pending['outcome']): string[] =>
  batch.filter(({ outcome }) => outcome === wanted).map(({ settlement }) => settlement.id);

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Any 2xx. What comes after the status changes nothing. */
const isSuccess = ({ status }: Answer): boolean => status !== null && status >= 200 && status < 300;

function settlementOf(
  { endpointId, delivery, lease }: QueuedDelivery,
  { at, durationMs, answer }: SentAttempt,
  endedAt: number,
  random: () => number,
): Settlement {
  const attempt: Attempt = {
    at: toTimestamp(at),
    status_code: answer.status,
    duration_ms: Math.round(durationMs),
    error: answer.error ?? (isSuccess(answer) ? null : `answered ${answer.status}`),
    response_body: answer.body,
  };
  const attempts: Attempt[] = [...JSON.parse(delivery.attempts), attempt].slice(-attemptsKept);
  const tries = delivery.tries + 1;
  const isFinal = isSuccess(answer) || answer.status === 410;
  const dueAt = isFinal ? undefined : nextAttempt(tries, endedAt, answer.retryAfter, random);
  return {
    endpointId,
    id: delivery.id,
    lease: lease.token,
    status: isSuccess(answer) ? 'succeeded' : dueAt === undefined ? 'failed' : 'pending',
    attempts: JSON.stringify(attempts),
    tries,
    dueAt: dueAt ?? null,
  };
}

const [seconds, minutes, hours] = [1000, 60_000, 3_600_000];

/** The contract's waits after each failed attempt; ten attempts in all, over about three days. */
export const waits: readonly number[] = [
  5 * seconds,
  5 * minutes,
  30 * minutes,
  2 * hours,
  5 * hours,
  10 * hours,
  14 * hours,
  20 * hours,
  24 * hours,
];

const jitter = 0.2;
const longestRetryAfter = 24 * hours;

/** When to try again after attempt number `tries`, which ended at `endedAt`; nothing when it was the last. */
export function nextAttempt(
  tries: number,
  endedAt: number,
  retryAfter: string | null,
  random: () => number,
): number | undefined {
  const wait = waits[tries - 1];
  if (wait === undefined) return undefined;
  const jittered = Math.round(wait * (1 - jitter + 2 * jitter * random()));
  return endedAt + Math.max(jittered, Math.min(readRetryAfter(retryAfter, endedAt), longestRetryAfter));
}

/** RFC 9110, section 10.2.3: seconds or a date. */
function readRetryAfter(retryAfter: string | null, now: number): number {
  if (retryAfter === null) return 0;
  if (/^\d{1,10}$/.test(retryAfter)) return Number(retryAfter) * seconds;
  const date = / GMT$/.test(retryAfter) ? Date.parse(retryAfter) : Number.NaN;
  return Number.isNaN(date) ? 0 : date - now;
}

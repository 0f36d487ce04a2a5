/**
 * Records the outcomes of deliveries, in batches. While the storage is unavailable, settlements are retried until their
 * lease has expired and another node may send the delivery.
 */
import { Counter, type Registry } from 'prom-client';
import { toTimestamp } from '../../../platform/clock.ts';
import type { Platform } from '../../../platform/platform.ts';
import type { Answer } from '../../../platform/safe-fetch.ts';
import { type Lease, type LeasedDelivery, type Settlement, settlementsText, writes } from './repo.ts';

/** As the API shows it. */
interface Attempt {
  at: string;
  status_code: number | null;
  duration_ms: number;
  error: string | null;
  response_body: string | null;
}

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

/** In one write: tips and others write between two of them. */
const batchSize = 200;
/** A batch waits for more settlements, longer if commits are slow: no caller waits for a settlement. */
const batchWaitMs = { min: 20, max: 50, perCommit: 4 };
const retryMs = 1000;
/** Manual retries are unlimited, the list of attempts is not. */
const maxAttemptsListed = 20;
/** So many of the newest answers are kept as they were read, and the beginning of older ones. */
const wholeAnswers = 2;
const maxOlderAnswer = 100;
/** Each would take six bytes of JSON. */
const controls = /[^\P{Cc}\t\n\r]/gu;

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
  let batchWait = batchWaitMs.min;

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
        batchWait = Math.min(batchWaitMs.max, Math.max(batchWaitMs.min, took * batchWaitMs.perCommit));
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
    settle(queued: QueuedDelivery, sent: SentAttempt): void {
      (isSuccess(sent.answer) ? succeeded : failed).inc();
      add(queued, settlementOf(queued, sent, clock(), random), sent.answer.status === 410 ? 'gone' : 'answered');
    },

    /** The delivery was not sent: it is due again at once. */
    release(queued: QueuedDelivery): void {
      const { attempts, tries } = queued.delivery;
      add(queued, { ...keyOf(queued), attempts, tries, status: 'pending', dueAt: clock() }, 'released');
    },

    async idle(): Promise<void> {
      while (running) await running;
    },
  };
}

const idsOf = (batch: readonly Pending[], wanted: Pending['outcome']): string[] =>
  batch.filter(({ outcome }) => outcome === wanted).map(({ settlement }) => settlement.id);

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Any 2xx status, even if reading the body failed. */
const isSuccess = ({ status }: Answer): boolean => status !== null && status >= 200 && status < 300;

const keyOf = ({ endpointId, delivery, lease }: QueuedDelivery) => ({
  endpointId,
  id: delivery.id,
  lease: lease.token,
});

function settlementOf(
  queued: QueuedDelivery,
  { at, durationMs, answer }: SentAttempt,
  endedAt: number,
  random: () => number,
): Settlement {
  const attempt: Attempt = {
    at: toTimestamp(at),
    status_code: answer.status,
    duration_ms: Math.round(durationMs),
    error: answer.error ?? (isSuccess(answer) ? null : `answered ${answer.status}`),
    response_body: answer.body?.replace(controls, '\ufffd') ?? null,
  };
  const { delivery } = queued;
  const attempts = listed([...JSON.parse(delivery.attempts), attempt]);
  const tries = delivery.tries + 1;
  const isFinal = isSuccess(answer) || answer.status === 410;
  const dueAt = isFinal ? undefined : nextAttempt(tries, endedAt, answer.retryAfter, random);
  return {
    ...keyOf(queued),
    status: isSuccess(answer) ? 'succeeded' : dueAt === undefined ? 'failed' : 'pending',
    attempts: JSON.stringify(attempts),
    tries,
    dueAt: dueAt ?? null,
  };
}

/** A page of a hundred deliveries would be megabytes of what receivers answered. */
function listed(attempts: readonly Attempt[]): Attempt[] {
  const newest = attempts.slice(-maxAttemptsListed);
  return newest.map((attempt, index) =>
    index >= newest.length - wholeAnswers
      ? attempt
      : { ...attempt, response_body: attempt.response_body?.slice(0, maxOlderAnswer).toWellFormed() ?? null },
  );
}

const [seconds, minutes, hours] = [1000, 60_000, 3_600_000];

/** The contract's wait after each failed attempt: ten attempts over about three days. */
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
const maxRetryAfter = 24 * hours;

/** The time of the next attempt after attempt number `tries`; nothing after the last. */
export function nextAttempt(
  tries: number,
  endedAt: number,
  retryAfter: string | null,
  random: () => number,
): number | undefined {
  const wait = waits[tries - 1];
  if (wait === undefined) return undefined;
  const jittered = Math.round(wait * (1 - jitter + 2 * jitter * random()));
  return endedAt + Math.max(jittered, Math.min(readRetryAfter(retryAfter, endedAt), maxRetryAfter));
}

/** RFC 9110, section 10.2.3: seconds or a date. */
function readRetryAfter(retryAfter: string | null, now: number): number {
  if (retryAfter === null) return 0;
  if (/^\d{1,10}$/.test(retryAfter)) return Number(retryAfter) * seconds;
  const date = / GMT$/.test(retryAfter) ? Date.parse(retryAfter) : Number.NaN;
  return Number.isNaN(date) ? 0 : date - now;
}

/**
 * Records the outcomes of deliveries, in batches. While the storage is unavailable, settlements are retried until their
 * lease has expired and another node may send the delivery.
 */
import { Counter, type Registry } from 'prom-client';
import { toTimestamp } from '../../../platform/clock.ts';
import type { Platform } from '../../../platform/platform.ts';
import type { Answer } from '../../../platform/safe-fetch.ts';
import type { DisabledEndpoint } from './disable-repo.ts';
import { type Lease, type LeasedDelivery, type Settlement, settlementsText, writes } from './repo.ts';
import type { Verdict } from './verdict.ts';

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
  readonly verdict: Verdict;
}

export interface SettlerParts extends Pick<Platform, 'db' | 'origins' | 'clock'> {
  readonly metrics: { readonly registry: Registry };
  readonly random: () => number;
  readonly onDisabled: (endpoint: DisabledEndpoint) => void;
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
/** Control characters are replaced: in JSON each takes six bytes. */
const controls = /[^\P{Cc}\t\n\r]/gu;

interface Pending {
  readonly settlement: Settlement;
  readonly leaseUntil: number;
  readonly outcome: 'answered' | 'gone' | 'released';
}

export function createSettler({ db, origins, clock, random, metrics, onDisabled, onError }: SettlerParts) {
  const attempts = new Counter({
    name: 'namjai_webhook_attempts_total',
    help: 'Webhook requests sent, by result and, of those that failed, by cause',
    labelNames: ['result', 'cause'],
    registers: [metrics.registry],
  });
  const succeeded = attempts.labels('succeeded', '');
  // From zero on, so that Prometheus sees the first failure as an increase.
  for (const cause of causes) attempts.inc({ result: 'failed', cause }, 0);
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
        const disabled = await db.write(writes.settle, origins.clock(), {
          text: settlementsText(batch.map(({ settlement }) => settlement)),
          gone: idsOf(batch, 'gone'),
          released: idsOf(batch, 'released'),
          now: clock(),
        });
        disabled.forEach(onDisabled);
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
      const { outcome } = sent.verdict;
      if (outcome === 'succeeded') succeeded.inc();
      else attempts.inc({ result: 'failed', cause: causeOf(sent.answer) });
      add(queued, settlementOf(queued, sent, clock(), random), outcome === 'gone' ? 'gone' : 'answered');
    },

    /** The delivery was not sent: it is due again, usually at once. */
    release(queued: QueuedDelivery, dueAt = clock()): void {
      const { attempts, tries } = queued.delivery;
      add(queued, { ...keyOf(queued), attempts, tries, status: 'pending', dueAt }, 'released');
    },

    async idle(): Promise<void> {
      while (running) await running;
    },
  };
}

const causes = ['1xx', '2xx', '3xx', '4xx', '5xx', 'timeout', 'address', 'tls', 'connection'] as const;

/** Few values, whatever receivers answer. */
function causeOf({ status, timedOut, error }: SentAttempt['answer']): (typeof causes)[number] {
  if (status !== null) return causes[Math.floor(status / 100) - 1] ?? 'connection';
  if (timedOut) return 'timeout';
  if (/^The address /.test(error ?? '')) return 'address';
  return /CERT|TLS|SSL|certificate/i.test(error ?? '') ? 'tls' : 'connection';
}

const idsOf = (batch: readonly Pending[], wanted: Pending['outcome']): string[] =>
  batch.filter(({ outcome }) => outcome === wanted).map(({ settlement }) => settlement.id);

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

const keyOf = ({ endpointId, delivery, lease }: QueuedDelivery) => ({
  endpointId,
  id: delivery.id,
  lease: lease.token,
  leasedTries: delivery.tries,
});

/** Without what PostgreSQL or a log could not store: a NUL, half an emoji. */
const storable = (text: string | null): string | null => text?.toWellFormed().replace(controls, '\ufffd') ?? null;

function settlementOf(
  queued: QueuedDelivery,
  { at, durationMs, answer, verdict: { outcome, pauseMs } }: SentAttempt,
  endedAt: number,
  random: () => number,
): Settlement {
  const attempt: Attempt = {
    at: toTimestamp(at),
    status_code: answer.status,
    duration_ms: Math.round(durationMs),
    error: outcome === 'succeeded' ? null : (storable(answer.error) ?? `answered ${answer.status}`),
    response_body: storable(answer.body),
  };
  const { delivery } = queued;
  const attempts = listed([...JSON.parse(delivery.attempts), attempt]);
  const tries = delivery.tries + (outcome === 'paused' ? 0 : 1);
  const dueAt = {
    succeeded: () => undefined,
    gone: () => undefined,
    paused: () => endedAt + pauseMs,
    failed: () => nextAttempt(tries, endedAt, answer.retryAfter, random),
  }[outcome]();
  return {
    ...keyOf(queued),
    status: outcome === 'succeeded' ? 'succeeded' : dueAt === undefined ? 'failed' : 'pending',
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

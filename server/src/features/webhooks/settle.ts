/**
 * Records what became of attempts. Those that end together share one transaction.
 * While the storage cannot write they are kept, until their lease has ended and somebody else may try.
 */
import { type Clock, toTimestamp } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/database.ts';
import type { Answer } from '../../platform/safe-fetch.ts';
import type { Claimed } from './claims.ts';
import { type Settlement, settlementsText } from './deliveries-repo.ts';
import { nextAttempt } from './schedule.ts';
import { settleAll } from './settle-all.ts';

/** One entry of a delivery's list, as the API shows it. */
export interface Attempt {
  at: string;
  status_code: number | null;
  duration_ms: number;
  error: string | null;
  response_body: string | null;
}

export interface Ended {
  readonly claimed: Claimed;
  readonly at: number;
  readonly endedAt: number;
  readonly durationMs: number;
  readonly answer: Answer;
}

export interface SettlerParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly random: () => number;
  readonly onError: (error: unknown) => void;
}

export type Settler = ReturnType<typeof createSettler>;

const atOnce = 500;
/** Nobody waits for a settlement, so more can join it, until there are enough: the longer a commit takes, the more share the next one. */
const gatherMs = { least: 20, most: 50, perCommit: 4 };
const againMs = 1000;
/** Retries by hand have no end; the list has. */
const attemptsKept = 20;

/** `answered` is missing where nothing was sent. */
type Item = { readonly leaseUntil: number; readonly row: Settlement; readonly answered?: number | null };

export function createSettler({ db, clock, random, onError }: SettlerParts) {
  let waiting: Item[] = [];
  let running: Promise<void> | undefined;
  let gather = gatherMs.least;

  function add(item: Item): void {
    waiting.push(item);
    running ??= wait(gather).then(run);
  }

  async function run(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.splice(0, atOnce);
      const started = performance.now();
      try {
        await record(batch);
        const took = performance.now() - started;
        gather = Math.min(gatherMs.most, Math.max(gatherMs.least, took * gatherMs.perCommit));
        if (waiting.length > 0 && waiting.length < atOnce) await wait(gather);
      } catch (error) {
        onError(error);
        await wait(againMs);
        waiting = [...batch.filter(({ leaseUntil }) => leaseUntil > clock()), ...waiting];
      }
    }
    running = undefined;
  }

  function record(batch: readonly Item[]): Promise<void> {
    const ids = (isOne: (item: Item) => boolean): string[] => batch.filter(isOne).map(({ row }) => row.id);
    return db.call(settleAll, {
      settlements: settlementsText(batch.map(({ row }) => row)),
      gone: ids(({ answered }) => answered === 410),
      released: ids(({ answered }) => answered === undefined),
      now: clock(),
    });
  }

  return {
    /** The attempt is over. */
    ended(ended: Ended): void {
      add({ leaseUntil: ended.claimed.leaseUntil, row: settlementOf(ended, random), answered: ended.answer.status });
    },

    /** It was not sent: somebody else can have it at once. */
    release({ endpointId, id, lease, attempts, tries, leaseUntil }: Claimed): void {
      add({ leaseUntil, row: { endpointId, id, lease, attempts, tries, status: 'pending', dueAt: clock() } });
    },

    async idle(): Promise<void> {
      while (running) await running;
    },
  };
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Any 2xx; what comes after the status changes nothing. */
export const isSuccess = ({ status }: Answer): boolean => status !== null && status >= 200 && status < 300;

function settlementOf({ claimed, at, endedAt, durationMs, answer }: Ended, random: () => number): Settlement {
  const attempt: Attempt = {
    at: toTimestamp(at),
    status_code: answer.status,
    duration_ms: Math.round(durationMs),
    error: answer.error ?? (isSuccess(answer) ? null : `answered ${answer.status}`),
    response_body: answer.body,
  };
  const attempts: Attempt[] = [...JSON.parse(claimed.attempts), attempt].slice(-attemptsKept);
  const tries = claimed.tries + 1;
  const dueAt =
    isSuccess(answer) || answer.status === 410 ? undefined : nextAttempt(tries, endedAt, answer.retryAfter, random);
  return {
    endpointId: claimed.endpointId,
    id: claimed.id,
    lease: claimed.lease,
    status: isSuccess(answer) ? 'succeeded' : dueAt === undefined ? 'failed' : 'pending',
    attempts: JSON.stringify(attempts),
    tries,
    dueAt: dueAt ?? null,
  };
}

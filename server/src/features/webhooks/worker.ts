/** Everything that delivers: events → deliveries → claims → requests → settlements. One runs in each process. */
import { Counter, type Registry } from 'prom-client';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/database.ts';
import type { Hub } from '../../platform/hub/hub.ts';
import type { Log } from '../../platform/log.ts';
import type { SafeFetch } from '../../platform/safe-fetch.ts';
import type { Vault } from '../../platform/secrets.ts';
import { anyEventTopic } from '../events/index.ts';
import { accessTopic } from '../oauth/index.ts';
import { createClaim, createTargets } from './claims.ts';
import { endLeases, waitingEndpoints } from './deliveries-repo.ts';
import { createDispatcher } from './dispatch.ts';
import { createLanes } from './lanes.ts';
import { webhookChangesTopic, webhooksTopic } from './service.ts';
import { createSettler, isSuccess } from './settle.ts';

export interface WorkerParts {
  readonly db: Database;
  readonly hub: Hub;
  readonly clock: Clock;
  readonly vault: Vault;
  readonly fetch: SafeFetch;
  readonly log: Log;
  readonly metrics: { readonly registry: Registry };
  readonly random?: () => number;
}

export type WebhookWorker = ReturnType<typeof createWebhookWorker>;

const pollMs = 1_000;
const sweepMs = 10_000;
/** However much there is to look through, looking takes at most this part of the time. */
const shareOfTime = 1 / 20;

export function createWebhookWorker(parts: WorkerParts) {
  const { db, hub, clock, vault, fetch, log, metrics, random = Math.random } = parts;
  const attempts = new Counter({
    name: 'namjai_webhook_attempts_total',
    help: 'Webhook requests sent',
    labelNames: ['result'],
    registers: [metrics.registry],
  });
  const [succeeded, failed] = [attempts.labels('succeeded'), attempts.labels('failed')];
  const onError = (err: unknown): void => log.warn({ err }, 'webhooks: trying again');
  const settler = createSettler({ db, clock, random, onError });
  const targetOf = createTargets(vault);
  const lanes = createLanes({
    clock,
    claim: createClaim({ db, clock, targetOf }),
    fetch,
    settler,
    onRoom: (endpointId) => dispatcher.roomFor(endpointId),
    onAnswer: (answer) => (isSuccess(answer) ? succeeded : failed).inc(),
    onError,
  });
  const dispatcher = createDispatcher({ db, clock, targetOf, lanes, onError });

  /** Finds what has become due: retries, and what a node left behind. */
  async function poll(): Promise<void> {
    const now = clock();
    lanes.tidy();
    for (const { id, due_at } of await waitingEndpoints(db)) if (due_at <= now) lanes.kick(id);
  }

  /** An embedded database has one process: what is claimed at its start was claimed by one that died. */
  async function takeOver(): Promise<void> {
    if (db.engine === 'sqlite') await db.write((tx) => endLeases(tx, clock()));
  }

  const stops: (() => void)[] = [];
  return {
    async start(): Promise<void> {
      await takeOver();
      const polling = repeat(poll, pollMs, onError);
      const sweeping = repeat(dispatcher.sweep, sweepMs, onError);
      stops.push(
        polling.stop,
        sweeping.stop,
        hub.subscribe(anyEventTopic, dispatcher.hint),
        hub.subscribe(webhooksTopic, lanes.kick),
        hub.subscribe(webhookChangesTopic, (id) => lanes.recall(({ endpointId }) => endpointId === id)),
        hub.subscribe(accessTopic, (id) => {
          lanes.recall(({ creator_id }) => id === '*' || creator_id === id);
          polling.soon();
        }),
      );
      // The command line writes to the same database without a hint.
      const stopListening = db.onExternalChange?.(() => {
        sweeping.soon();
        polling.soon();
      });
      if (stopListening) stops.push(stopListening);
    },

    /** Delivers all that is due now, to the end. */
    async pass(): Promise<void> {
      await dispatcher.idle();
      await dispatcher.sweep();
      await poll();
      do {
        await dispatcher.idle();
        await lanes.idle();
      } while (!dispatcher.isIdle());
      await settler.idle();
    },

    /** Ends what is under way; what is not yet sent stays due. */
    async stop(): Promise<void> {
      for (const stop of stops.splice(0)) stop();
      await dispatcher.idle();
      await lanes.stop();
      await settler.idle();
    },
  };
}

/** Runs a job at once and then again and again, never twice at the same time. `soon` asks for a run without waiting. */
function repeat(job: () => Promise<void>, everyMs: number, onError: (error: unknown) => void) {
  let timer: NodeJS.Timeout | undefined;
  let [running, asked, stopped] = [false, false, false];

  async function run(): Promise<void> {
    if (stopped) return;
    if (running) {
      asked = true;
      return;
    }
    clearTimeout(timer);
    running = true;
    asked = false;
    const started = performance.now();
    await job().catch(onError);
    const took = performance.now() - started;
    running = false;
    if (!stopped) timer = setTimeout(run, asked ? 0 : Math.max(everyMs, took / shareOfTime)).unref();
  }
  void run();
  return {
    soon: () => void run(),
    stop(): void {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

/** Delivers webhooks: events → deliveries → leases → requests → settlements. One worker runs in each process. */
import type { Registry } from 'prom-client';
import type { Database } from '../../platform/db/database.ts';
import type { Platform } from '../../platform/platform.ts';
import { createWorkQueue } from '../../platform/work-queue.ts';
import { anyEventTopic } from '../events/index.ts';
import { accessTopic } from '../oauth/index.ts';
import { createBacklogMetrics } from './delivery/backlog-metrics.ts';
import { backlogOf, dueEndpoints } from './delivery/backlog-repo.ts';
import { createCancelling } from './delivery/cancel.ts';
import type { DisabledEndpoint } from './delivery/disable-repo.ts';
import { createLeaseQueue, EndpointQueue, usualRequests } from './delivery/endpoint-queue.ts';
import { signedFormat } from './delivery/format.ts';
import { createLeases } from './delivery/leases.ts';
import { writes } from './delivery/repo.ts';
import { RequestSlots } from './delivery/request-slots.ts';
import { createSettler } from './delivery/settle.ts';
import {
  type ConnectionKinds,
  httpTransport,
  type Kinds,
  type SandboxDelivery,
  withFaults,
} from './delivery/transport.ts';
import { usualJudge } from './delivery/verdict.ts';
import { WaitingCounts } from './delivery/waiting-counts.ts';
import { createDispatcher } from './dispatch/dispatcher.ts';
import { logDisabled } from './endpoints/enabled-log.ts';
import { webhookChangesTopic, webhooksTopic } from './endpoints/service.ts';
import { type Listeners, maxUnanswered } from './listener/listeners.ts';
import { repeat } from './repeat.ts';

export interface WorkerParts extends Pick<Platform, 'db' | 'origins' | 'hub' | 'clock' | 'vault' | 'fetch' | 'log'> {
  readonly metrics: { readonly registry: Registry };
  readonly listeners: Listeners;
  /** The formats of creators' connections, and where they are sent. */
  readonly connections: { readonly kinds: ConnectionKinds };
  readonly sandboxDelivery: SandboxDelivery;
  readonly random?: () => number;
}

export type WebhookWorker = ReturnType<typeof createWebhookWorker>;

const pollMs = 1_000;
/** A listener ends within a second of the app's suspension. */
const listenersMs = 500;
const sweepMs = 10_000;
const backlogMs = 15_000;

/**
 * The writes of the worker have hundreds of rows. SQLite runs one write after another, so a tip waits for all that are
 * before it: there are two of the worker at a time, in turn between their kinds.
 */
function queueWrites(db: Database): Database {
  if (db.engine !== 'sqlite') return db;
  const writeQueue = createWorkQueue({ atOnce: 2, maxWaiting: Number.POSITIVE_INFINITY });
  return { ...db, write: (write, ...args) => writeQueue.runAdmitted(write.name, () => db.write(write, ...args)) };
}

export function createWebhookWorker(parts: WorkerParts) {
  const db = queueWrites(parts.db);
  const {
    hub,
    clock,
    vault,
    fetch,
    log,
    metrics,
    listeners,
    connections,
    sandboxDelivery,
    random = Math.random,
  } = parts;
  const onError = (err: unknown): void => log.warn({ err }, 'webhook work failed; it will be retried');
  const signed = { format: signedFormat, judge: usualJudge };
  const kinds: Kinds = {
    ...connections.kinds,
    http: { ...signed, transport: withFaults(httpTransport(fetch), sandboxDelivery), maxRequests: usualRequests },
    listener: { ...signed, transport: withFaults(listeners, sandboxDelivery), maxRequests: maxUnanswered },
  };
  const { sessionOf } = listeners;
  const leases = createLeases(clock);
  const onDisabled = (endpoint: DisabledEndpoint): void => logDisabled(log, endpoint);
  const settler = createSettler({ db, origins: parts.origins, clock, random, metrics, onDisabled, onError });
  const queueParts = {
    db,
    clock,
    vault,
    kinds,
    leases,
    slots: new RequestSlots(),
    leaseQueue: createLeaseQueue(),
    waiting: new WaitingCounts(),
    settler,
    sessionOf,
    onError,
  };
  const queues = new Map<string, EndpointQueue>();
  const announce = (endpointId: string): void => hub.publish(webhooksTopic, endpointId);
  const dispatcher = createDispatcher({ db, leases, connections, queueOf, sessionOf, announce, onError });
  const cancelling = createCancelling(db, onError);
  const stops: (() => void)[] = [];
  let stopped = false;

  function queueOf(endpointId: string): EndpointQueue {
    const known = queues.get(endpointId);
    if (known) return known;
    const queue = new EndpointQueue(endpointId, queueParts);
    if (stopped) void queue.stop();
    queues.set(endpointId, queue);
    return queue;
  }

  function wake(endpointId: string): void {
    if (!stopped) queueOf(endpointId).wake();
  }

  /** A grant, an endpoint or a creator's events have changed, so leases from before are outdated. */
  function outdate(id: string): void {
    leases.outdate(id);
    for (const queue of queues.values()) queue.recheck();
  }

  /** Finds due deliveries: retries, and those of a node that has died. */
  async function poll(): Promise<void> {
    for (const [id, queue] of queues) if (queue.isRemovable) queues.delete(id);
    for (const { id, session } of await dueEndpoints(db, clock()))
      if (session === null || session === sessionOf(id)) wake(id);
  }

  const backlog = createBacklogMetrics(metrics.registry);
  const measureBacklog = async (): Promise<void> => backlog(await backlogOf(db), clock());

  return {
    async start(): Promise<void> {
      // SQLite has one server process: any lease at its start belongs to a process that has died.
      if (db.engine === 'sqlite') {
        await db.write(writes.endLeases, clock());
        await listeners.endOthers();
      }
      const checkingListeners = repeat(listeners.check, listenersMs, onError);
      const cancellingClosed = repeat(listeners.cancelClosed, listenersMs, onError);
      const polling = repeat(poll, pollMs, onError);
      const sweeping = repeat(dispatcher.sweep, sweepMs, onError);
      const measuring = repeat(measureBacklog, backlogMs, onError);
      stops.push(
        checkingListeners.stop,
        cancellingClosed.stop,
        polling.stop,
        sweeping.stop,
        measuring.stop,
        hub.subscribe(anyEventTopic, dispatcher.hint),
        hub.subscribe(webhooksTopic, wake),
        hub.subscribe(webhookChangesTopic, (endpointId) => {
          outdate(endpointId);
          // The lease tells whether the endpoint was removed.
          queues.get(endpointId)?.wake();
        }),
        hub.subscribe(accessTopic, (creatorId) => {
          outdate(creatorId);
          cancelling.hint(creatorId);
          polling.soon();
        }),
      );
      // The command line writes to the same database without a hint. It may have ended a grant or suspended somebody.
      const stopListening = db.onExternalChange?.(() => {
        outdate('*');
        sweeping.soon();
        polling.soon();
      });
      if (stopListening) stops.push(stopListening);
    },

    /** For tests: how many endpoints have a queue in memory. */
    queueCount: (): number => queues.size,

    /** For tests: updates what the metrics tell of the backlog. */
    measure: measureBacklog,

    /** For tests: delivers everything that is due now. */
    async pass(): Promise<void> {
      await listeners.check();
      await listeners.cancelClosed();
      await dispatcher.idle();
      await dispatcher.sweep();
      await poll();
      do {
        await dispatcher.idle();
        for (const queue of queues.values()) await queue.idle();
      } while (!dispatcher.isIdle() || [...queues.values()].some(({ isIdle }) => !isIdle));
      await settler.idle();
    },

    /** Waits for requests in flight. Other deliveries stay due. */
    async stop(): Promise<void> {
      stopped = true;
      for (const stop of stops.splice(0)) stop();
      const stopQueues = () => Promise.all([...queues.values()].map((queue) => queue.stop()));
      // At once: no request begins while the dispatcher ends. Until then it may make more queues.
      await Promise.all([stopQueues(), dispatcher.stop(), cancelling.stop()]);
      await stopQueues();
      await settler.idle();
    },
  };
}

import type { CloseCode, StreamEvent } from '../types.ts';
import { asFrame, type Frame } from './frames.ts';
import { sseTransport } from './sse.ts';
import { type Transport, webSocketTransport } from './transport.ts';
import type {
  ConnectOptions,
  EventConnection,
  EventsStatus,
  QueuedItem,
  StatusDetail,
  StreamConnection,
} from './types.ts';

/**
 * The event stream of one creator, for browsers and Node. Invariants:
 *
 * - Every event is delivered once and in the order of `sequence`, one after another: the next waits until the handler of
 *   the last has settled. What a handler throws goes to `onError`, and its event counts as delivered.
 * - `position` is the last event delivered. Store it and pass it as `after` to resume after a restart.
 * - Events that were received but not delivered stay in the queue through reconnections, so a new connection asks for
 *   what follows the last *received* event. Nothing is skipped: a gap in the sequence drops the connection.
 * - It reconnects until `close()`, close code 4403, or a token callback that throws `StopEvents`.
 * - A token is used again until a connection ends before its welcome.
 * - All of this holds for a WebSocket (`ws:`, `wss:`) and for Server-Sent Events (`http:`, `https:`) alike.
 */

const CONNECT_TIMEOUT_MS = 30_000; // for the token, the upgrade and the welcome together
const STABLE_MS = 10_000; // after this long a connection resets the count of failures
const BACKOFF_MS = 500;
const BACKOFF_CAP_MS = 30_000;
const MAX_MOVE_MS = 25_000; // the server keeps the old connection for 30 seconds after a reconnect frame
const REMEMBERED_IDS = 1000;

const BAD_TOKEN = 4401 satisfies CloseCode;
const GRANT_ENDED = 4403 satisfies CloseCode;
const TOO_MANY_CONNECTIONS = 4429 satisfies CloseCode;

/** Thrown by a token callback: do not try again. */
export class StopEvents extends Error {
  override readonly name = 'StopEvents';
}

export function connectEvents(options: ConnectOptions): EventConnection {
  const transport = transportOf(options);
  const random = options.random ?? Math.random;
  const timer = options.timer ?? defaultTimer;
  const maxWaiting = options.maxWaiting ?? 1000;

  let status: EventsStatus = 'connecting';
  let stopped = false;
  let paused = false; // the queue was full; no connection until it is empty

  let active: StreamConnection | undefined; // welcomed
  let opening: StreamConnection | undefined; // not welcomed yet; exists beside `active` while the server moves the client
  let cancelRetry: (() => void) | undefined;
  let failures = 0;
  let tokenRefused = false; // the last connection was closed with 4401
  let token: string | undefined;
  let lastToken: string | undefined;

  let received = options.after;
  let position = options.after;
  let delivering = false;
  const queue: QueuedItem[] = [];
  const recentIds = new Set<string>();

  // --- connections

  function open(): void {
    cancelRetry = undefined;
    if (!active) setStatus('connecting', {});
    if (stopped) return;
    const connection: StreamConnection = { closed: false, welcomed: false, silenceMs: CONNECT_TIMEOUT_MS };
    opening = connection;
    restartSilenceTimer(connection);
    start(connection).catch((error) => {
      if (connection.closed) return;
      if (error instanceof StopEvents) finish({ error });
      else onLost(connection, { error });
    });
  }

  async function start(connection: StreamConnection): Promise<void> {
    const current = token ?? (await options.token(tokenRefused ? lastToken : undefined));
    if (connection.closed) return;
    token = lastToken = current;
    const { url, protocol } = options;
    connection.handle = transport(
      { url, token: current, after: received, protocol },
      {
        onFrame: (frame) => {
          if (!connection.closed) receive(connection, frame);
        },
        onClose: (detail) => onLost(connection, detail),
      },
    );
    if (connection.closed) connection.handle.close();
  }

  function restartSilenceTimer(connection: StreamConnection): void {
    connection.stopSilenceTimer?.();
    connection.stopSilenceTimer = timer(connection.silenceMs, () =>
      onLost(connection, { error: new Error('the connection went silent') }),
    );
  }

  function closeConnection(connection: StreamConnection | undefined): void {
    if (!connection || connection.closed) return;
    connection.closed = true;
    connection.stopSilenceTimer?.();
    connection.stopStableTimer?.();
    connection.handle?.close();
    if (connection === active) active = undefined;
    if (connection === opening) opening = undefined;
  }

  function closeAll(): void {
    closeConnection(active);
    closeConnection(opening);
    cancelRetry?.();
    cancelRetry = undefined;
  }

  function onLost(connection: StreamConnection, detail: StatusDetail): void {
    if (connection.closed) return;
    closeConnection(connection);
    if (!connection.welcomed) token = undefined;
    if (detail.code === GRANT_ENDED) finish(detail);
    else if (!opening) retry(retryDelay(detail.code), detail);
  }

  function retryDelay(code: number | undefined): number {
    const refusedBefore = tokenRefused;
    tokenRefused = code === BAD_TOKEN;
    if (tokenRefused && !refusedBefore) return 0;
    if (code === TOO_MANY_CONNECTIONS) return BACKOFF_CAP_MS * (1 + random());
    const ceiling = Math.min(BACKOFF_CAP_MS, BACKOFF_MS * 2 ** failures);
    failures += 1;
    return random() * ceiling;
  }

  function retry(ms: number, detail: StatusDetail): void {
    cancelRetry?.();
    cancelRetry = timer(ms, open);
    if (!active) setStatus('waiting', { ...detail, retryMs: ms });
  }

  function finish(detail: StatusDetail): void {
    stopped = true;
    closeAll();
    enqueue({ end: detail });
  }

  // --- frames

  function receive(connection: StreamConnection, value: unknown): void {
    const frame = asFrame(value);
    if (!frame || (frame.type === 'event' && !connection.welcomed)) {
      onLost(connection, { error: new Error('the server sent a frame that makes no sense') });
      return;
    }
    if (frame.type === 'welcome' && !connection.welcomed) welcome(connection, frame);
    if (!connection.welcomed || connection.closed) return;
    restartSilenceTimer(connection);
    if (frame.type === 'event') accept(connection, frame.event);
    if (frame.type === 'other') guarded(() => options.onFrame?.(frame.name, frame.frame));
    if (frame.type === 'reconnect' && connection === active && !opening && !cancelRetry) {
      retry(Math.min(Math.max(frame.after_ms, 0), MAX_MOVE_MS), {});
    }
  }

  function welcome(connection: StreamConnection, frame: Frame & { type: 'welcome' }): void {
    // The new connection resumes after the last event received, so it brings whatever the old one did not.
    if (active !== connection) closeConnection(active);
    if (opening === connection) opening = undefined;
    active = connection;
    connection.welcomed = true;
    connection.silenceMs = frame.keepalive_seconds * 2000;
    connection.stopStableTimer = timer(STABLE_MS, () => {
      failures = 0;
      tokenRefused = false;
    });
    setStatus('live', {});
    if (connection.closed) return;
    if (received === undefined) {
      received = position = frame.sequence;
    } else if (frame.resumed !== true) {
      received = frame.sequence;
      enqueue({ reset: { oldest: frame.oldest, sequence: frame.sequence } });
    }
  }

  function accept(connection: StreamConnection, event: StreamEvent): void {
    const last = received ?? 0;
    if (event.sequence <= last) return;
    if (event.sequence > last + 1 && !options.sparse) {
      onLost(connection, { error: new Error(`expected event ${last + 1}, got ${event.sequence}`) });
      return;
    }
    received = event.sequence;
    enqueue({ event });
    if (queue.length <= maxWaiting) return;
    paused = true;
    closeAll();
    setStatus('waiting', { error: new Error('the handler is slower than the events') });
  }

  // --- delivery

  function enqueue(item: QueuedItem): void {
    queue.push(item);
    void deliverAll();
  }

  async function deliverAll(): Promise<void> {
    if (delivering) return;
    delivering = true;
    for (let next = queue.shift(); next; next = queue.shift()) await deliver(next);
    delivering = false;
    if (!paused || stopped) return;
    paused = false;
    open();
  }

  async function deliver(next: QueuedItem): Promise<void> {
    if ('end' in next) return setStatus('ended', next.end);
    try {
      if ('reset' in next) await options.onReset?.(next.reset);
      else if (isNew(next.event.id)) await options.onEvent(next.event);
    } catch (error) {
      report(error);
    }
    position = 'reset' in next ? next.reset.sequence : next.event.sequence;
  }

  /** After a reset to an earlier sequence (a node behind the others) known events may come again. */
  function isNew(id: string): boolean {
    if (recentIds.has(id)) return false;
    recentIds.add(id);
    for (const oldest of recentIds) {
      if (recentIds.size <= REMEMBERED_IDS) break;
      recentIds.delete(oldest);
    }
    return true;
  }

  function setStatus(next: EventsStatus, detail: StatusDetail): void {
    status = next;
    guarded(() => options.onStatus?.(next, detail));
  }

  function guarded(callback: () => void): void {
    try {
      callback();
    } catch (error) {
      report(error);
    }
  }

  function report(error: unknown): void {
    try {
      (options.onError ?? console.error)(error);
    } catch (second) {
      console.error(second);
    }
  }

  open();
  return {
    close() {
      if (status === 'ended' || status === 'closed') return;
      stopped = true;
      queue.length = 0;
      closeAll();
      setStatus('closed', {});
    },
    get position() {
      return position;
    },
    get status() {
      return status;
    },
  };
}

function defaultTimer(ms: number, run: () => void): () => void {
  const id = setTimeout(run, ms);
  return () => clearTimeout(id);
}

function transportOf({ url, WebSocket = globalThis.WebSocket, fetch = globalThis.fetch }: ConnectOptions): Transport {
  if (/^https?:/i.test(url)) return sseTransport(fetch);
  if (WebSocket) return webSocketTransport(WebSocket);
  throw new TypeError(
    'This runtime has no WebSocket. Give the address of /v1/events/stream and an access token, or a WebSocket class.',
  );
}

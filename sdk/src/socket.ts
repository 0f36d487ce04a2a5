import type { ConnectOptions, EventConnection, EventsStatus, Frame, Item, Line, StatusDetail } from './socket-types.ts';
import type { CloseCode, StreamEvent } from './types.ts';

/**
 * The event stream of one creator, for browsers and Node. Invariants:
 *
 * - Every event is handed over once and in the order of `sequence`, one after another: the next waits until the
 *   handler of the last has settled. A handler that throws is reported to `onError`; its event counts as handed over.
 * - `position` is the last event handed over. Keep it and give it back as `after` to go on after a restart.
 * - What was received but not handed over yet stays in the queue through reconnections, so a new connection asks for
 *   what follows the last *received* event. Nothing is skipped: a gap in the sequence drops the connection.
 * - It reconnects for ever, until `close()`, close code 4403, or a token callback that throws `StopEvents`.
 * - The token goes in the first frame, never in the address. It is used again until a connection ends unwelcomed.
 *
 * The overlay page loads this very file with its types stripped: erasable syntax, no runtime imports.
 */

const ATTEMPT_MS = 30_000; // token, opening and welcome together
const STABLE_MS = 10_000; // a connection this old forgets earlier failures
const BACKOFF_MS = 500;
const BACKOFF_CAP_MS = 30_000;
const MOVE_MS = 25_000; // the server keeps the old connection for 30 seconds after a reconnect frame
const REMEMBERED_IDS = 1000;

const BAD_TOKEN = 4401 satisfies CloseCode;
const GRANT_ENDED = 4403 satisfies CloseCode;
const TOO_MANY_CONNECTIONS = 4429 satisfies CloseCode;

/** Thrown by a token callback: do not try again. */
export class StopEvents extends Error {
  override readonly name = 'StopEvents';
}

export function connectEvents(options: ConnectOptions): EventConnection {
  const Socket = options.WebSocket ?? globalThis.WebSocket;
  const random = options.random ?? Math.random;
  const timer = options.timer ?? defaultTimer;
  const maxWaiting = options.maxWaiting ?? 1000;

  let status: EventsStatus = 'connecting';
  let stopped = false;
  let paused = false; // the queue was full: no connection until it is empty

  let active: Line | undefined; // welcomed
  let opening: Line | undefined; // on its way to be welcomed; beside `active` while the server moves us
  let cancelRetry: (() => void) | undefined;
  let failures = 0;
  let refused = false; // the last connection ended with 4401
  let token: string | undefined;

  let position = options.after;
  let received = options.after;
  let draining = false;
  const queue: Item[] = [];
  const recent = new Set<string>();

  // --- connections

  function open(): void {
    cancelRetry = undefined;
    if (!active) tell('connecting', {});
    if (stopped) return;
    const line: Line = { gone: false, welcomed: false, patience: ATTEMPT_MS };
    opening = line;
    watch(line);
    start(line).catch((error) => {
      if (line.gone) return;
      if (error instanceof StopEvents) finish({ error });
      else lost(line, { error });
    });
  }

  async function start(line: Line): Promise<void> {
    const current = token ?? (await options.token());
    if (line.gone) return;
    token = current;
    const socket = new Socket(options.url);
    line.socket = socket;
    socket.addEventListener('open', () => {
      if (!line.gone) socket.send(JSON.stringify({ type: 'auth', token: current, after: received }));
    });
    socket.addEventListener('message', (message) => {
      if (!line.gone) receive(line, message.data);
    });
    socket.addEventListener('close', ({ code }) => lost(line, { code }));
    socket.addEventListener('error', () => {}); // a close follows; `ws` throws where nobody listens
  }

  /** A line that says nothing for its patience is dead, whatever the network believes. */
  function watch(line: Line): void {
    line.stopWatch?.();
    line.stopWatch = timer(line.patience, () => lost(line, { error: new Error('the connection went silent') }));
  }

  function shut(line: Line | undefined): void {
    if (!line || line.gone) return;
    line.gone = true;
    line.stopWatch?.();
    line.stopStable?.();
    line.socket?.close();
    if (line === active) active = undefined;
    if (line === opening) opening = undefined;
  }

  function shutAll(): void {
    shut(active);
    shut(opening);
    cancelRetry?.();
    cancelRetry = undefined;
  }

  function lost(line: Line, detail: StatusDetail): void {
    if (line.gone) return;
    shut(line);
    if (!line.welcomed) token = undefined;
    if (detail.code === GRANT_ENDED) finish(detail);
    else if (!opening) retry(delayAfter(detail.code), detail);
  }

  function delayAfter(code: number | undefined): number {
    const again = code === BAD_TOKEN && refused;
    refused = code === BAD_TOKEN;
    if (refused && !again) return 0;
    if (code === TOO_MANY_CONNECTIONS) return BACKOFF_CAP_MS * (1 + random());
    const ceiling = Math.min(BACKOFF_CAP_MS, BACKOFF_MS * 2 ** failures);
    failures += 1;
    return random() * ceiling;
  }

  function retry(ms: number, detail: StatusDetail): void {
    cancelRetry?.();
    cancelRetry = timer(ms, open);
    if (!active) tell('waiting', { ...detail, retryMs: ms });
  }

  function finish(detail: StatusDetail): void {
    stopped = true;
    shutAll();
    enqueue({ end: detail });
  }

  // --- frames

  function receive(line: Line, data: unknown): void {
    const frame = parseFrame(data);
    if (!frame || (frame.type === 'event' && !line.welcomed)) {
      lost(line, { error: new Error('the server sent a frame that makes no sense') });
      return;
    }
    if (frame.type === 'welcome' && !line.welcomed) welcome(line, frame);
    if (!line.welcomed || line.gone) return;
    watch(line);
    if (frame.type === 'event') accept(line, frame.event);
    if (frame.type === 'other') guarded(() => options.onFrame?.(frame.name));
    if (frame.type === 'reconnect' && line === active && !opening && !cancelRetry) {
      retry(Math.min(Math.max(frame.after_ms, 0), MOVE_MS), {});
    }
  }

  function welcome(line: Line, frame: Frame & { type: 'welcome' }): void {
    // The new line was opened with all that was received until then, so whatever the old one did not bring it will.
    if (active !== line) shut(active);
    if (opening === line) opening = undefined;
    active = line;
    line.welcomed = true;
    line.patience = frame.keepalive_seconds * 2000;
    line.stopStable = timer(STABLE_MS, () => {
      failures = 0;
      refused = false;
    });
    tell('live', {});
    if (line.gone) return;
    if (received === undefined) {
      received = position = frame.sequence;
    } else if (frame.resumed !== true) {
      received = frame.sequence;
      enqueue({ reset: { oldest: frame.oldest, sequence: frame.sequence } });
    }
  }

  function accept(line: Line, event: StreamEvent): void {
    const last = received ?? 0;
    if (event.sequence <= last) return;
    if (event.sequence > last + 1 && !options.sparse) {
      lost(line, { error: new Error(`expected event ${last + 1}, got ${event.sequence}`) });
      return;
    }
    received = event.sequence;
    enqueue({ event });
    if (queue.length <= maxWaiting) return;
    paused = true;
    shutAll();
    tell('waiting', { error: new Error('the handler is slower than the events') });
  }

  // --- handing over

  function enqueue(item: Item): void {
    queue.push(item);
    void drain();
  }

  async function drain(): Promise<void> {
    if (draining) return;
    draining = true;
    for (let item = queue.shift(); item; item = queue.shift()) await handOver(item);
    draining = false;
    if (!paused || stopped) return;
    paused = false;
    open();
  }

  async function handOver(item: Item): Promise<void> {
    if ('end' in item) return tell('ended', item.end);
    try {
      if ('reset' in item) await options.onReset?.(item.reset);
      else if (remember(item.event.id)) await options.onEvent(item.event);
    } catch (error) {
      report(error);
    }
    position = 'reset' in item ? item.reset.sequence : item.event.sequence;
  }

  /** After a reset to an earlier sequence (a node behind the others) known events may come again. */
  function remember(id: string): boolean {
    if (recent.has(id)) return false;
    recent.add(id);
    for (const oldest of recent) {
      if (recent.size <= REMEMBERED_IDS) break;
      recent.delete(oldest);
    }
    return true;
  }

  function tell(next: EventsStatus, detail: StatusDetail): void {
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
      shutAll();
      tell('closed', {});
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

/** Undefined: not a frame. Frames and events that a later version may add are `other`, and passed over. */
function parseFrame(data: unknown): Frame | undefined {
  try {
    const frame: unknown = JSON.parse(String(data));
    if (!isRecord(frame) || typeof frame.type !== 'string') return undefined;
    if (isWelcome(frame) || isEvent(frame) || isReconnect(frame)) return frame;
    return ['welcome', 'reconnect'].includes(frame.type) ? undefined : { type: 'other', name: frame.type };
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function isWelcome(frame: Record<string, unknown>): frame is Frame & { type: 'welcome' } {
  return frame.type === 'welcome' && Number(frame.keepalive_seconds) > 0 && Number.isSafeInteger(frame.sequence);
}

function isEvent(frame: Record<string, unknown>): frame is Frame & { type: 'event' } {
  return frame.type === 'event' && isRecord(frame.event) && Number.isSafeInteger(frame.event.sequence);
}

function isReconnect(frame: Record<string, unknown>): frame is Frame & { type: 'reconnect' } {
  return frame.type === 'reconnect' && typeof frame.after_ms === 'number';
}

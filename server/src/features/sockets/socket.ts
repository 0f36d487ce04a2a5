import { WebSocket } from 'ws';
import { releaseReadSlot } from '../../platform/http/connections.ts';
import type { AcceptedWebSocket } from '../../platform/http/websocket.ts';
import { type CloseReason, closeReasons } from './close-reasons.ts';
import { BackpressuredSocket, type Connection, keepaliveSeconds, type Welcome } from './connection.ts';
import { type EncodedEvents, encodeFrame, type Notice, pingFrame, pongFrame, textFrame } from './encoded-events.ts';
import type { Subscription } from './streams.ts';
import type { Subscriber } from './subscriber.ts';

/** What a client sends to open the stream, in the query or in the first frame. */
export interface Auth {
  readonly token: string;
  readonly after: number | undefined;
  /** The version of the overlay's protocol that the page was made for. */
  readonly protocol?: number | undefined;
}

export interface SocketCallbacks {
  /** Verifies the token and subscribes the connection, or gives the reason to close it. */
  readonly subscribe: (auth: Auth, connection: SocketConnection) => Promise<Subscription | CloseReason>;
  readonly onError: (error: unknown) => void;
  /** The server closes the connection before it has subscribed. */
  readonly onRefused: (reason: CloseReason) => void;
  /** `code` is that of whoever closed first. */
  readonly onClose: (connection: SocketConnection, code: number) => void;
}

/** The longest frame that a client needs to send holds a token. */
export const webSocketOptions = { maxPayload: 8192, closeTimeout: 5000, badFrame: closeReasons.bad_frame.code };

const authTimeoutMs = 10_000;
/** How long a client that is not welcome may take to read the close frame. */
const refusedMs = 1000;
/**
 * How many bytes a client may send: one auth frame, in however many fragments, and then a ping now and then. It bounds
 * what parsing them costs others.
 */
const maxBytesToAuthenticate = 2 * webSocketOptions.maxPayload;
const maxBytesASecond = 8192;

const keepaliveFrame = textFrame('{"type":"keepalive"}');
/** A client that has not answered the ping by the next keepalive is gone. */
const keepaliveAndPing = Buffer.concat([keepaliveFrame, pingFrame]);

/**
 * One client's WebSocket. Frames are complete buffers, written to the TCP socket below and shared between clients.
 *
 * - Before the welcome a client may send its auth frame and nothing else. Any other frame, also a ping, closes the
 *   connection. So no answer waits for a client that has not authenticated.
 * - While a client does not read, its pings are not answered. Once it reads again, the server answers the last ping of
 *   each kind.
 */
export class SocketConnection extends BackpressuredSocket implements Connection {
  readonly sessionId: string;
  readonly openedAt = performance.now();
  subscriber: Subscriber | undefined;
  /** The newest sequence when the client was welcomed. */
  head = Number.POSITIVE_INFINITY;
  readonly #callbacks: SocketCallbacks;
  readonly #accepted: AcceptedWebSocket;
  readonly #webSocket: WebSocket;
  #state: 'unauthenticated' | 'joining' | 'live' | 'closed' = 'unauthenticated';
  #authTimer: NodeJS.Timeout | undefined;
  #awaitsPong = false;
  #closedWith: number | undefined;
  /** Made when it is needed, because most clients read at once. */
  #unanswered: Map<'ping' | 'protocol ping', Buffer> | undefined;
  #bytes = { left: maxBytesToAuthenticate, since: 0 };

  /** `auth` is what the query said. Without it the first frame must authenticate. */
  constructor(
    callbacks: SocketCallbacks,
    accepted: AcceptedWebSocket,
    sessionId: string,
    auth: Auth | CloseReason | undefined,
  ) {
    super(accepted.socket);
    this.sessionId = sessionId;
    this.#callbacks = callbacks;
    this.#accepted = accepted;
    this.#webSocket = accepted.webSocket;
    this.#webSocket.on('message', (data: Buffer, isBinary: boolean) => this.#receive(isBinary ? '' : String(data)));
    this.#webSocket.on('ping', (payload: Buffer) =>
      this.#receiveControl(() => this.#answer('protocol ping', pongFrame(payload))),
    );
    this.#webSocket.on('pong', () =>
      this.#receiveControl(() => {
        this.#awaitsPong = false;
      }),
    );
    // Before it is parsed: a chunk may hold ten thousand pings, each of which would be answered.
    accepted.onBytes = (length) => this.#countBytes(length);
    // The client has violated the protocol.
    this.#webSocket.on('error', () => this.#fail('bad_frame'));
    this.#webSocket.on('close', (code: number) => this.#onClose(code));
    if (auth === undefined) this.#authTimer = setTimeout(() => this.close('no_auth'), authTimeoutMs);
    else this.#authenticate(auth);
  }

  // --- from the client

  #receive(text: string): void {
    if (this.#state === 'closed') return;
    const frame = readFrame(text);
    if (frame === 'ping' && this.#state === 'live') this.#answer('ping', keepaliveFrame);
    else if (typeof frame === 'object' && this.#state === 'unauthenticated') this.#authenticate(frame);
    else this.#fail(frame === 'bad_token' ? frame : 'bad_frame');
  }

  #receiveControl(receive: () => void): void {
    if (this.#state === 'live') receive();
    else this.#fail('bad_frame');
  }

  #countBytes(length: number): void {
    const now = performance.now();
    if (this.#state === 'live' && now - this.#bytes.since >= 1000) this.#bytes = { left: maxBytesASecond, since: now };
    this.#bytes.left -= length;
    if (this.#bytes.left < 0) this.#fail('bad_frame');
  }

  /** RFC 6455, section 5.5.3: of several pings that are not yet answered the last may be answered alone. */
  #answer(kind: 'ping' | 'protocol ping', frame: Buffer): void {
    if (!this.socket.writableNeedDrain) return void this.#write(frame);
    if (!this.#unanswered) void this.drained().then(() => this.#answerLate());
    this.#unanswered ??= new Map();
    this.#unanswered.set(kind, frame);
  }

  #answerLate(): void {
    for (const frame of this.#unanswered?.values() ?? []) this.#write(frame);
    this.#unanswered = undefined;
  }

  #authenticate(auth: Auth | CloseReason): void {
    clearTimeout(this.#authTimer);
    this.#authTimer = undefined;
    if (typeof auth === 'string') return void this.close(auth);
    this.#state = 'joining';
    this.#subscribe(auth).catch((error) => {
      this.#callbacks.onError(error);
      this.close('restart');
    });
  }

  async #subscribe(auth: Auth): Promise<void> {
    const subscription = await this.#callbacks.subscribe(auth, this);
    if (typeof subscription === 'string') return this.close(subscription);
    this.subscriber = subscription.subscriber;
    if (this.closed) this.subscriber.leave();
    const refused = await subscription.refusal;
    if (refused) this.close(refused, subscription.subscriber.closeText);
  }

  #onClose(code: number): void {
    clearTimeout(this.#authTimer);
    this.#state = 'closed';
    this.subscriber?.leave();
    this.#callbacks.onClose(this, this.#closedWith ?? code);
  }

  get closed(): boolean {
    return this.#state === 'closed';
  }

  // --- to the client

  welcome({ sequence, oldest, resumed, replayed }: Welcome): void {
    releaseReadSlot(this.socket);
    this.head = sequence;
    const session = { session_id: this.sessionId, keepalive_seconds: keepaliveSeconds };
    this.#write(textFrame(JSON.stringify({ type: 'welcome', ...session, sequence, oldest, resumed, replayed })));
    this.#state = 'live';
  }

  send(events: EncodedEvents): void {
    this.#write(events.webSocketFrames);
  }

  /** Sends a frame of another type than those of events. */
  notify(frame: Notice): void {
    this.sendFrame(encodeFrame(frame));
  }

  /** Sends what `encodeFrame` made, for several connections at once. */
  sendFrame(frame: Buffer): void {
    if (this.#state === 'live') this.#write(frame);
  }

  keepalive(): void {
    if (this.#awaitsPong) this.#webSocket.terminate();
    else this.#write(keepaliveAndPing);
    this.#awaitsPong = true;
  }

  reconnect(afterMs: number): boolean {
    if (this.#state !== 'live') return false;
    this.#write(textFrame(`{"type":"reconnect","after_ms":${afterMs}}`));
    return true;
  }

  close(reason: CloseReason, closeText?: string): void {
    if (this.#state === 'closed') return;
    const wasLive = this.#state === 'live';
    const withinMs = wasLive && reason !== 'bad_frame' ? webSocketOptions.closeTimeout : refusedMs;
    this.#state = 'closed';
    clearTimeout(this.#authTimer);
    if (!this.subscriber) this.#callbacks.onRefused(reason);
    const row = closeReasons[reason];
    this.#closedWith = row.code;
    // Strangers that came together are refused together.
    this.#accepted[wasLive ? 'close' : 'closePaced'](row.code, closeText ?? row.reason, withinMs);
  }

  #fail(reason: CloseReason): void {
    (this.subscriber ?? this).close(reason);
  }

  #write(frame: Buffer): void {
    if (this.#webSocket.readyState === WebSocket.OPEN) this.socket.write(frame);
  }
}

function readFrame(text: string): Auth | 'ping' | CloseReason {
  try {
    const frame: unknown = JSON.parse(text);
    if (frame === null || typeof frame !== 'object' || !('type' in frame)) return 'bad_frame';
    if (frame.type === 'ping') return 'ping';
    if (frame.type !== 'auth') return 'bad_frame';
    const auth = readAuth('token' in frame ? frame.token : null, 'after' in frame ? frame.after : undefined);
    const protocol = 'protocol' in frame && typeof frame.protocol === 'number' ? frame.protocol : undefined;
    return typeof auth === 'string' ? auth : { ...auth, protocol };
  } catch {
    return 'bad_frame';
  }
}

/** `after` is a number in a frame and digits in a query. */
export function readAuth(token: unknown, after: unknown): Auth | CloseReason {
  if (typeof token !== 'string') return 'bad_token';
  if (after === undefined || after === null) return { token, after: undefined };
  const sequence = typeof after === 'string' && /^\d{1,16}$/.test(after) ? Number(after) : after;
  return Number.isSafeInteger(sequence) && Number(sequence) >= 0 ? { token, after: Number(sequence) } : 'bad_frame';
}

import { WebSocket } from 'ws';
import type { AcceptedWebSocket } from '../../platform/http/websocket.ts';
import { type CloseReason, closeReasons } from './close-reasons.ts';
import { BackpressuredSocket, type Connection, type Welcome } from './connection.ts';
import { type EncodedEvents, pingFrame, textFrame } from './encoded-events.ts';
import type { Subscription } from './streams.ts';
import type { Subscriber } from './subscriber.ts';

/** What a client sends to open the stream, in the query or in the first frame. */
export interface Auth {
  readonly token: string;
  readonly after: number | undefined;
}

export interface SocketCallbacks {
  /** Verifies the token and subscribes the connection, or gives the reason to close it. */
  readonly subscribe: (auth: Auth, connection: SocketConnection) => Promise<Subscription | CloseReason>;
  readonly onError: (error: unknown) => void;
  /** `code` is the client's close code. A client repeats the server's code if the server closed first. */
  readonly onClose: (connection: SocketConnection, code: number) => void;
}

/** The longest frame that a client needs to send holds a token. */
export const webSocketOptions = { maxPayload: 8192, closeTimeout: 5000, badFrame: closeReasons.bad_frame.code };

const authTimeoutMs = 10_000;

const keepaliveFrame = textFrame('{"type":"keepalive"}');
/** A client that has not answered the ping by the next keepalive is gone. */
const keepaliveAndPing = Buffer.concat([keepaliveFrame, pingFrame]);

/** One client's WebSocket. Frames are complete buffers, written to the TCP socket below and shared between clients. */
export class SocketConnection extends BackpressuredSocket implements Connection {
  readonly sessionId: string;
  readonly openedAt = performance.now();
  subscriber: Subscriber | undefined;
  readonly #callbacks: SocketCallbacks;
  readonly #webSocket: WebSocket;
  #state: 'unauthenticated' | 'joining' | 'live' | 'closed' = 'unauthenticated';
  #authTimer: NodeJS.Timeout | undefined;
  #pingPending = false;
  #awaitsPong = false;

  /** `auth` is what the query said. Without it the first frame must authenticate. */
  constructor(
    callbacks: SocketCallbacks,
    { webSocket, socket }: AcceptedWebSocket,
    sessionId: string,
    auth: Auth | CloseReason | undefined,
  ) {
    super(socket);
    this.sessionId = sessionId;
    this.#callbacks = callbacks;
    this.#webSocket = webSocket;
    this.#webSocket.on('message', (data: Buffer, isBinary: boolean) => this.#receive(isBinary ? '' : String(data)));
    this.#webSocket.on('pong', () => {
      this.#awaitsPong = false;
    });
    this.#webSocket.on('error', () => {}); // a `close` event follows
    this.#webSocket.on('close', (code: number) => this.#onClose(code));
    if (auth === undefined) this.#authTimer = setTimeout(() => this.close('no_auth'), authTimeoutMs);
    else this.#authenticate(auth);
  }

  // --- from the client

  #receive(text: string): void {
    if (this.#state === 'closed') return;
    const frame = readFrame(text);
    if (frame === 'ping' && this.#state !== 'unauthenticated') this.#answerPing();
    else if (typeof frame === 'object' && this.#state === 'unauthenticated') this.#authenticate(frame);
    else this.#fail(frame === 'bad_token' ? frame : 'bad_frame');
  }

  #answerPing(): void {
    if (this.#state === 'live') this.#write(keepaliveFrame);
    else this.#pingPending = true; // the welcome must be the first frame
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
    if (refused) this.close(refused);
  }

  #onClose(code: number): void {
    clearTimeout(this.#authTimer);
    this.#state = 'closed';
    this.subscriber?.leave();
    this.#callbacks.onClose(this, code);
  }

  get closed(): boolean {
    return this.#state === 'closed';
  }

  // --- to the client

  welcome({ sequence, oldest, resumed, replayed }: Welcome): void {
    const session = { session_id: this.sessionId, keepalive_seconds: 25 };
    this.#write(textFrame(JSON.stringify({ type: 'welcome', ...session, sequence, oldest, resumed, replayed })));
    this.#state = 'live';
    if (this.#pingPending) this.#write(keepaliveFrame);
  }

  send(events: EncodedEvents): void {
    this.#write(events.webSocketFrames);
  }

  /** Sends a frame that has nothing but its type. */
  notify(type: string): void {
    if (this.#state === 'live') this.#write(textFrame(JSON.stringify({ type })));
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

  close(reason: CloseReason): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    clearTimeout(this.#authTimer);
    const row = closeReasons[reason];
    this.#webSocket.close(row.code, row.reason);
  }

  /** Frees the socket at once; `close` waits up to five seconds for the client's close frame. */
  evict(): void {
    this.close('no_auth');
    this.socket.destroySoon();
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
    return readAuth('token' in frame ? frame.token : null, 'after' in frame ? frame.after : undefined);
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

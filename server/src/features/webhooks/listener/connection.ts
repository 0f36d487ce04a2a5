/**
 * The socket of one listener. Invariants:
 *
 * - The client may send results and WebSocket pings after `ready`, and pongs at any time. Anything else closes the socket.
 * - What the client may send is bounded by what it was sent: each delivery allows one result of the longest length.
 * - A delivery is answered once: by a result, by the timeout, or as unsent when the socket closes. A result that comes
 *   later, or that nobody asked for, is ignored.
 * - For a client that does not read wait at most the deliveries that may be unanswered, and a ping. Without a pong
 *   until the next ping the socket is ended.
 */
import { WebSocket } from 'ws';
import type { AcceptedWebSocket } from '../../../platform/http/websocket.ts';
import type { Sending, SentAnswer } from '../delivery/transport.ts';
import { type ListenerCloseReason, listenerCloseReasons } from './close-reasons.ts';
import { type Result, readResult } from './result.ts';

export interface ListenerCallbacks {
  readonly timeoutMs: number;
  /** Called once, before deliveries in flight are answered as unsent. */
  readonly onClose: (code: number) => void;
}

interface Unanswered {
  readonly answer: (answer: SentAnswer | 'unsent') => void;
  readonly timer: NodeJS.Timeout;
}

const keepaliveMs = 25_000;
const closeWithinMs = 1_000;
/** The longest message that a client may send (`webSocketOptions`), with its frame. */
const maxResultBytes = 8192 + 16;
/** How many bytes may arrive without a delivery that asks for them: pings, and results that are late. */
const freeBytes = 16 * 1024;
const maxAllowedBytes = 512 * 1024;

export class ListenerConnection {
  readonly openedAt = performance.now();
  readonly #accepted: AcceptedWebSocket;
  readonly #callbacks: ListenerCallbacks;
  readonly #unanswered = new Map<string, Unanswered>();
  readonly #keepalive: NodeJS.Timeout;
  #state: 'opening' | 'open' | 'closed' = 'opening';
  #awaitsPong = false;
  #allowedBytes = freeBytes;
  #allowedSince = 0;

  constructor(accepted: AcceptedWebSocket, callbacks: ListenerCallbacks) {
    this.#accepted = accepted;
    this.#callbacks = callbacks;
    const { webSocket, socket } = accepted;
    webSocket.on('message', (data: Buffer, isBinary: boolean) => this.#receive(isBinary ? '' : String(data)));
    webSocket.on('ping', (payload: Buffer) => {
      if (this.#state !== 'open') this.close('bad_frame');
      else if (!socket.writableNeedDrain) webSocket.pong(payload);
    });
    webSocket.on('pong', () => {
      this.#awaitsPong = false;
    });
    accepted.onBytes = (length) => this.#countBytes(length);
    webSocket.on('error', () => this.close('bad_frame'));
    webSocket.on('close', (code: number) => this.#end(code));
    this.#keepalive = setInterval(() => this.#ping(), keepaliveMs).unref();
  }

  get closed(): boolean {
    return this.#state === 'closed';
  }

  ready(endpoint: { readonly endpoint_id: string; readonly secret: string }): void {
    if (this.closed) return;
    this.#state = 'open';
    this.#write({ type: 'ready', ...endpoint });
  }

  deliver({ deliveryId: id, headers, body }: Sending): Promise<SentAnswer | 'unsent'> {
    if (this.#state !== 'open') return Promise.resolve('unsent');
    this.#allowedBytes = Math.min(maxAllowedBytes, this.#allowedBytes + maxResultBytes);
    return new Promise((resolve) => {
      const { timeoutMs } = this.#callbacks;
      const timer = setTimeout(() => this.#answer(id, noAnswer(timeoutMs)), timeoutMs);
      this.#unanswered.set(id, { answer: resolve, timer });
      this.#write({ type: 'delivery', id, headers, body });
    });
  }

  close(reason: ListenerCloseReason): void {
    if (this.closed) return;
    const { code, reason: text } = listenerCloseReasons[reason];
    this.#end(code);
    this.#accepted.close(code, text, closeWithinMs);
  }

  #receive(text: string): void {
    const result = this.#state === 'open' ? readResult(text) : undefined;
    if (result) this.#answer(result.id, answerOf(result));
    else this.close('bad_frame');
  }

  #answer(id: string, answer: SentAnswer | 'unsent'): void {
    const unanswered = this.#unanswered.get(id);
    if (!unanswered) return;
    clearTimeout(unanswered.timer);
    this.#unanswered.delete(id);
    unanswered.answer(answer);
  }

  #countBytes(length: number): void {
    const now = performance.now();
    if (now - this.#allowedSince >= 1000) {
      this.#allowedBytes = Math.max(this.#allowedBytes, freeBytes);
      this.#allowedSince = now;
    }
    this.#allowedBytes -= length;
    if (this.#allowedBytes < 0) this.close('bad_frame');
  }

  #ping(): void {
    if (this.#awaitsPong) this.#accepted.webSocket.terminate();
    else if (this.#state === 'open') this.#accepted.webSocket.ping();
    this.#awaitsPong = this.#state === 'open';
  }

  #write(frame: object): void {
    const { webSocket } = this.#accepted;
    if (webSocket.readyState === WebSocket.OPEN) webSocket.send(JSON.stringify(frame));
  }

  /** Nothing is sent or read any more. `code` is that of whoever closed first. */
  #end(code: number): void {
    if (this.closed) return;
    this.#state = 'closed';
    clearInterval(this.#keepalive);
    this.#callbacks.onClose(code);
    for (const id of [...this.#unanswered.keys()]) this.#answer(id, 'unsent');
  }
}

const answerOf = ({ status_code, duration_ms, error, response_body }: Result): SentAnswer => ({
  status: status_code,
  durationMs: duration_ms,
  error,
  body: response_body,
  retryAfter: null,
  timedOut: false,
});

const noAnswer = (timeoutMs: number): SentAnswer => ({
  status: null,
  error: `no result within ${timeoutMs / 1000} seconds`,
  body: null,
  retryAfter: null,
  timedOut: true,
});

import { WebSocket } from 'ws';
import type { Accepted } from '../../platform/http/websocket.ts';
import { type Batch, pingFrame, textFrame } from './batch.ts';
import { type CloseReason, closeReasons } from './close-reasons.ts';
import { Line } from './line.ts';
import type { Member, Opening, Start, Wire } from './member.ts';

/** What a client says to open the stream, in the query or in the first frame. */
export interface Hello {
  readonly token: string;
  readonly after: number | undefined;
}

/** What all sockets share. */
export interface SocketHost {
  /** Finds out who is there and joins the feed, or tells why not. */
  readonly join: (hello: Hello, socket: EventSocket) => Promise<Opening | CloseReason>;
  readonly onError: (error: unknown) => void;
  /** The code is the peer's, who repeats ours if we closed first. */
  readonly onClose: (socket: EventSocket, code: number) => void;
}

/** The longest frame a client has reason to send holds a token. */
export const webSocketOptions = { maxPayload: 8192, closeTimeout: 5000, badFrame: closeReasons.bad_frame.code };

const authMs = 10_000;

const keepaliveFrame = textFrame('{"type":"keepalive"}');
/** With a ping of the protocol: a peer that has not answered it by the next one is gone, whatever the network believes. */
const keepaliveAndPing = Buffer.concat([keepaliveFrame, pingFrame]);

/** One client's WebSocket. Frames are whole buffers, written to the line below it and shared where they can be. */
export class EventSocket extends Line implements Wire {
  readonly sessionId: string;
  readonly openedAt = performance.now();
  member: Member | undefined;
  readonly #host: SocketHost;
  readonly #webSocket: WebSocket;
  #state: 'waiting' | 'joining' | 'live' | 'ended' = 'waiting';
  #authTimer: NodeJS.Timeout | undefined;
  #owesKeepalive = false;
  #pinged = false;

  /** `hello`: what the query said; with nothing said there, the first frame must. */
  constructor(
    host: SocketHost,
    { webSocket, socket }: Accepted,
    sessionId: string,
    hello: Hello | CloseReason | undefined,
  ) {
    super(socket);
    this.sessionId = sessionId;
    this.#host = host;
    this.#webSocket = webSocket;
    this.#webSocket.on('message', (data: Buffer, isBinary: boolean) => this.#receive(isBinary ? '' : String(data)));
    this.#webSocket.on('pong', () => {
      this.#pinged = false;
    });
    this.#webSocket.on('error', () => {}); // a close follows
    this.#webSocket.on('close', (code: number) => this.#closed(code));
    if (hello === undefined) this.#authTimer = setTimeout(() => this.end('no_auth'), authMs);
    else this.#greet(hello);
  }

  // --- from the client

  #receive(text: string): void {
    if (this.#state === 'ended') return;
    const frame = readFrame(text);
    if (frame === 'ping' && this.#state !== 'waiting') this.#answerPing();
    else if (typeof frame === 'object' && this.#state === 'waiting') this.#greet(frame);
    else this.#fail(frame === 'bad_token' ? frame : 'bad_frame');
  }

  #answerPing(): void {
    if (this.#state === 'live') this.#write(keepaliveFrame);
    else this.#owesKeepalive = true; // the welcome comes first
  }

  #greet(hello: Hello | CloseReason): void {
    clearTimeout(this.#authTimer);
    this.#authTimer = undefined;
    if (typeof hello === 'string') return void this.end(hello);
    this.#state = 'joining';
    this.#join(hello).catch((error) => {
      this.#host.onError(error);
      this.end('restart');
    });
  }

  async #join(hello: Hello): Promise<void> {
    const joined = await this.#host.join(hello, this);
    if (typeof joined === 'string') return this.end(joined);
    this.member = joined.member;
    if (this.#state === 'ended') joined.member.leave();
    const refused = await joined.opened;
    if (refused) this.end(refused);
  }

  #closed(code: number): void {
    clearTimeout(this.#authTimer);
    this.#state = 'ended';
    this.member?.leave();
    this.#host.onClose(this, code);
  }

  get ended(): boolean {
    return this.#state === 'ended';
  }

  // --- to the client

  welcome({ sequence, oldest, resumed, replayed }: Start): void {
    const session = { session_id: this.sessionId, keepalive_seconds: 25 };
    this.#write(textFrame(JSON.stringify({ type: 'welcome', ...session, sequence, oldest, resumed, replayed })));
    this.#state = 'live';
    if (this.#owesKeepalive) this.#write(keepaliveFrame);
  }

  send(batch: Batch): void {
    this.#write(batch.frames);
  }

  /** A frame of its own kind, beside the events. */
  tell(type: string): void {
    if (this.#state === 'live') this.#write(textFrame(JSON.stringify({ type })));
  }

  keepalive(): void {
    if (this.#pinged) this.#webSocket.terminate();
    else this.#write(keepaliveAndPing);
    this.#pinged = true;
  }

  reconnect(afterMs: number): boolean {
    if (this.#state !== 'live') return false;
    this.#write(textFrame(`{"type":"reconnect","after_ms":${afterMs}}`));
    return true;
  }

  end(reason: CloseReason): void {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    clearTimeout(this.#authTimer);
    const row = closeReasons[reason];
    this.#webSocket.close(row.code, row.reason);
  }

  /** Makes room at once, where `end` waits up to five seconds for the peer's own close. */
  evict(): void {
    this.end('no_auth');
    this.socket.destroySoon();
  }

  #fail(reason: CloseReason): void {
    if (this.member) this.member.end(reason);
    else this.end(reason);
  }

  #write(frame: Buffer): void {
    if (this.#webSocket.readyState === WebSocket.OPEN) this.socket.write(frame);
  }
}

function readFrame(text: string): Hello | 'ping' | CloseReason {
  try {
    const frame: unknown = JSON.parse(text);
    if (frame === null || typeof frame !== 'object' || !('type' in frame)) return 'bad_frame';
    if (frame.type === 'ping') return 'ping';
    if (frame.type !== 'auth') return 'bad_frame';
    return readHello('token' in frame ? frame.token : null, 'after' in frame ? frame.after : undefined);
  } catch {
    return 'bad_frame';
  }
}

/** `after` is a number in a frame and digits in a query. */
export function readHello(token: unknown, after: unknown): Hello | CloseReason {
  if (typeof token !== 'string') return 'bad_token';
  if (after === undefined || after === null) return { token, after: undefined };
  const sequence = typeof after === 'string' && /^\d{1,16}$/.test(after) ? Number(after) : after;
  return Number.isSafeInteger(sequence) && Number(sequence) >= 0 ? { token, after: Number(sequence) } : 'bad_frame';
}

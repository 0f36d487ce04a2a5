/**
 * One program that is connected by Socket.IO, over polling or a WebSocket. Invariants:
 *
 * - An event is taken when the operating system has taken it: over a WebSocket the frame, over polling the whole answer to
 *   a poll. It is confirmed when the client has answered a ping that followed it, or polls again.
 * - When one side has closed the connection, what was taken counts; of a client that has vanished only what was confirmed.
 *   Everything else is missed, and comes with the next connection.
 * - Events are sent in order, one after the other, and none before the client has joined the namespace.
 */
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Socket as ProgramSocket } from 'socket.io';
import { WebSocket } from 'ws';
import { releaseReadSlot } from '../../../platform/http/connections.ts';
import type { AcceptedWebSocket } from '../../../platform/http/websocket.ts';
import type { StoredEvent } from '../../events/index.ts';
import { type CloseReason, type Connection, closeReasons, type Subscriber } from '../../sockets/index.ts';
import { Confirmations } from './confirmations.ts';
import { Outbox, type Outgoing } from './outbox.ts';

type EngineSocket = ProgramSocket['conn'];

export interface ProgramCallbacks {
  /** The message for an event; nothing if the dialect has no words for it. */
  readonly encode: (event: StoredEvent) => object | null | Promise<object | null>;
  /** The operating system has taken the message for an event. */
  readonly onSent: (event: StoredEvent) => void;
  readonly onError: (error: unknown) => void;
  /** Called once, with the sequence up to which the client needs nothing more. */
  readonly onClose: (position: number | undefined) => void;
}

/** How long a client may take to read what waits for it when the connection is closed. */
const closeWithinMs = 5000;
/** How many bytes a client may send in a second: it has nothing to say but that it lives. */
const maxBytesASecond = 8192;
/** What a request of a client that polls counts as at least. */
const minRequestBytes = 256;
/** How many packets a client may send between two polls. The answers to the older generation's pings wait for a poll. */
const maxPacketsBetweenPolls = 64;
/** How often `isAlive` checks for an answer. */
const alivePollMs = 50;

/** The payload of pings that ask whether the client is alive. Their pongs confirm no event: it may be newer than the ping. */
const alivePing = Buffer.from('alive');

export class ProgramConnection implements Connection {
  readonly openedAt = performance.now();
  subscriber: Subscriber | undefined;
  /** Why the connection was closed before it was open. */
  refused: CloseReason | undefined;
  readonly #callbacks: ProgramCallbacks;
  #engine: EngineSocket | undefined;
  #program: ProgramSocket | undefined;
  #accepted: AcceptedWebSocket | undefined;
  /** The answer to the last poll. */
  #poll: ServerResponse | undefined;
  #state: 'opening' | 'open' | 'closed' = 'opening';
  #welcome: number | undefined;
  readonly #outbox = new Outbox();
  #isWriting = false;
  readonly #confirmations = new Confirmations(() => this.#ping());
  #pongs = 0;
  #hasVanished = false;
  /** This side has closed the connection. */
  #isClosing = false;
  #bytes = { left: maxBytesASecond, since: 0 };
  #packets = 0;

  constructor(callbacks: ProgramCallbacks) {
    this.#callbacks = callbacks;
  }

  get closed(): boolean {
    return this.#state === 'closed';
  }

  /** The sequence up to which the client is known to need nothing more; nothing before the welcome. */
  readonly position = (): number | undefined => this.#confirmations.position;

  /** The same as far as the operating system knows. */
  #taken(): number | undefined {
    if (this.#welcome === undefined) return undefined;
    return this.#outbox.position(Math.max(this.#welcome, this.subscriber?.cursor ?? 0));
  }

  /** Whether the client answers within this time. */
  readonly isAlive = async (withinMs: number): Promise<boolean> => {
    const { webSocket } = this.#accepted ?? {};
    const pongs = this.#pongs;
    if (this.hasWebSocket) webSocket?.ping(alivePing);
    for (let waited = 0; !this.closed && waited < withinMs; waited += alivePollMs) {
      if (this.#state === 'opening' || this.#pongs > pongs || this.#isPolling) return true;
      await delay(alivePollMs);
    }
    return false;
  };

  get #isPolling(): boolean {
    return this.#poll !== undefined && !this.#poll.writableEnded && !this.#poll.destroyed;
  }

  // --- the life of the session

  /** Engine.IO has made the session. */
  opened(engine: EngineSocket): void {
    this.#engine = engine;
    this.#state = 'open';
    engine.on('packet', ({ data }: { data?: unknown }) => {
      this.#packets += 1;
      const isMuch = engine.transport.name === 'polling' && this.#packets > maxPacketsBetweenPolls;
      if (isMuch || (data !== undefined && typeof data !== 'string')) this.#fail();
    });
    engine.once('upgrade', () => {
      this.#poll = undefined;
    });
    engine.once('close', (reason: string) => this.#onClose(reason));
    if (this.refused) this.close(this.refused);
  }

  /** The client has joined the namespace. */
  joined(program: ProgramSocket): void {
    this.#program = program;
    program.once('disconnect', (reason) => {
      if (reason === 'client namespace disconnect') this.#engine?.close(true);
    });
    this.#write();
  }

  /** The session goes on, or is made, over this WebSocket. */
  onWebSocket(accepted: AcceptedWebSocket): void {
    this.#accepted = accepted;
    releaseReadSlot(accepted.socket);
    accepted.webSocket.on('ping', (payload: Buffer) => {
      if (!accepted.socket.writableNeedDrain) accepted.webSocket.pong(payload);
    });
    accepted.webSocket.on('pong', (payload: Buffer) => {
      this.#pongs += 1;
      if (!alivePing.equals(payload)) this.#confirmations.onPong();
    });
    // Without a close frame.
    accepted.webSocket.once('close', (code: number) => {
      this.#hasVanished = code === 1006 && this.#isOverWebSocket && !this.#isClosing;
    });
    accepted.onBytes = (length) => this.#countBytes(length);
  }

  get hasWebSocket(): boolean {
    return this.#accepted?.webSocket.readyState === WebSocket.OPEN;
  }

  get #isOverWebSocket(): boolean {
    return this.#engine?.transport.name === 'websocket';
  }

  /** The client polls: it has the answer to the last poll. */
  onPoll(response: ServerResponse): void {
    // A listener for each event that it carries (#written).
    this.#poll = response.setMaxListeners(0);
    this.#packets = 0;
    this.#confirmations.position = this.#taken();
  }

  /** The client that polls sends a request with so many bytes. */
  onPost(bytes: number): void {
    this.#countBytes(Math.max(bytes, minRequestBytes));
  }

  /** Ends a connection that never became a session. */
  abandon(): void {
    if (this.#state === 'opening') this.#onClose('abandoned');
  }

  #ping(): number | undefined {
    if (!this.#isOverWebSocket || !this.hasWebSocket) return undefined;
    this.#accepted?.webSocket.ping();
    return this.#taken();
  }

  #countBytes(length: number): void {
    const now = performance.now();
    if (now - this.#bytes.since >= 1000) this.#bytes = { left: maxBytesASecond, since: now };
    this.#bytes.left -= length;
    if (this.#bytes.left < 0) this.#fail();
  }

  #fail(): void {
    (this.subscriber ?? this).close('bad_frame');
  }

  #onClose(reason: string): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.subscriber?.leave();
    this.#outbox.release();
    this.#hangUp(1000, '');
    void this.#answered().then(() => {
      const hasVanished = this.#hasVanished || reason === 'ping timeout';
      this.#callbacks.onClose(hasVanished ? this.position() : this.#taken());
    });
  }

  /** Resolves when the operating system has taken the answer to the last poll, or will not. */
  async #answered(): Promise<void> {
    const poll = this.#poll;
    if (!poll?.writableEnded || poll.writableFinished || poll.destroyed) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, closeWithinMs);
    poll.once('close', resolve);
    await promise;
    clearTimeout(timer);
  }

  // --- to the client

  welcome({ sequence, replayed }: { readonly sequence: number; readonly replayed: number }): void {
    this.#welcome = sequence - replayed;
    this.#confirmations.position = this.#welcome;
  }

  send({ events }: { readonly events: readonly StoredEvent[] }): void {
    for (const event of events) this.#outbox.add(event);
    this.#write();
  }

  #write(): void {
    if (this.#isWriting || !this.#program) return;
    this.#writeAll().catch((error) => {
      this.#callbacks.onError(error);
      (this.subscriber ?? this).close('restart');
    });
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    try {
      for (let next = this.#outbox.next(); next && !this.closed; next = this.#outbox.next()) {
        const outgoing = next;
        const message = await this.#callbacks.encode(outgoing.event);
        // Of both generations of the protocol: an event (2) of the main namespace.
        const packet = `2${JSON.stringify(['event', message])}`;
        if (message) this.#engine?.write(packet, { compress: false }, ({ name }) => this.#written(outgoing, name));
        else this.#outbox.take(outgoing);
      }
    } finally {
      this.#isWriting = false;
    }
  }

  /** Engine.IO has passed the event on to the transport. */
  #written(outgoing: Outgoing, transport: string): void {
    const poll = transport === 'polling' ? this.#poll : undefined;
    if (!poll || poll.writableFinished) this.#take(outgoing);
    else poll.once('finish', () => this.#take(outgoing));
  }

  #take(outgoing: Outgoing): void {
    this.#outbox.take(outgoing);
    this.#confirmations.onTaken();
    this.#callbacks.onSent(outgoing.event);
  }

  async drained(): Promise<void> {
    if (!this.closed) await this.#outbox.drained();
  }

  get buffered(): number {
    return this.#outbox.waitingBytes + (this.#accepted?.socket.writableLength ?? 0);
  }

  get flushed(): number {
    const { bytesWritten = 0, writableLength = 0 } = this.#accepted?.socket ?? {};
    return this.#outbox.takenBytes + bytesWritten - writableLength;
  }

  /** Engine.IO has its own heartbeat. */
  keepalive(): void {}

  /** The protocol has no words for it: clients connect again when the connection is closed. */
  reconnect(): boolean {
    return false;
  }

  /** A client that is told of the disconnection does not come back; one whose connection is only closed does. */
  close(reason: CloseReason): void {
    if (this.#state === 'opening') {
      this.refused = reason;
      return;
    }
    if (this.closed) return;
    this.#isClosing = true;
    if (reason === 'grant_ended') this.#program?.disconnect();
    const { code, reason: text } = closeReasons[reason];
    const polls = !this.#isOverWebSocket;
    if (polls) this.#engine?.close(true);
    this.#hangUp(code, text);
    // Engine.IO may have closed the session by itself, and waits up to half a minute for a poll to say so.
    if (polls) this.#onClose('forced close');
  }

  /** Ends the WebSocket, also one to which the session was about to move, and one that Engine.IO has closed. */
  #hangUp(code: number, reason: string): void {
    if (this.#accepted?.webSocket.readyState !== WebSocket.CLOSED) this.#accepted?.close(code, reason, closeWithinMs);
  }
}

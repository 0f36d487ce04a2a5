/**
 * What is read of the connections, and when. Invariants:
 *
 * - A request is read when the one before it on its connection is answered. A client may send requests without waiting
 *   for their answers (HTTP pipelining), and a chunk of 64 KiB holds 2,000 of them: sending more gains nothing, and takes
 *   no memory but that of a chunk.
 * - An iteration of the event loop reads a bounded part of a connection: one request, 4 KiB of a head, or a few lines of
 *   a body in chunks (`Transfer-Encoding: chunked`), of which 64 KiB may hold 10,000, each as costly as a large one. It
 *   reads such parts of few connections, in rotation between addresses, and between those of one address that sent
 *   different credentials last: Node.js would read a request, and 2 MiB of a body, of every connection, also of bodies that
 *   are only dropped.
 * - Longer requests and large parts of bodies wait in a queue of their own, apart from usual requests. Usual
 *   requests that a proxy passes on do not wait here: whose they are is known when they are parsed (`request-queue.ts`).
 * - What waits to be read, and heads that do not end, take a bounded amount of memory for each address.
 * - A client that ends its side of the connection after a request (half-close) gets the answer all the same, however long
 *   it takes. Only a stream ends with it: most clients that end a connection while they read one are gone.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { networkOf, unmapped } from '../addresses.ts';
import { createPacer } from '../pacer.ts';
import { endOfHead, endOfLines, isLineBreak, lineBreaksBefore, nextHeadEnd } from './request-bytes.ts';
import { createRequestQueue, credentialOf, type RequestQueue, type RequestSource } from './request-queue.ts';
import { putBack, replaceReaders, resumeReading } from './socket-reading.ts';

/** How many empty lines in a body of unknown length, each of which may be the end of a head, are read in an iteration. */
const maxSlices = 32;
/** Of a head, which may have a thousand lines in so many bytes. */
const maxHeadBytes = 4096;
const usualBytes = 2048;
const usualBodyBytes = 16 * 1024;
/** To parse a usual request takes 0.03 ms. A hundred clients that send one at the same moment would delay others by 3 ms. */
const maxUsual = { atOnce: 64, ofAddress: 16, ms: 0.5 };
/** What a connection holds is not counted if it is shorter. */
const smallBytes = 4096;
const defaultMaxOfAddress = 32 * 1024 * 1024;

export interface ReadingOptions {
  /** Whether connections from this address are not counted: a proxy carries those of many people. */
  readonly isExempt?: (address: string) => boolean;
  /** How many bytes may wait, or be of heads without an answer, of one address. */
  readonly maxOfAddress?: number;
}

export interface RequestReading {
  /**
   * Parses all that waits, and whatever comes from now on at once. For a server that closes: Node.js takes a connection
   * whose request is not parsed for an idle one.
   */
  finish(): void;
  /** Since when the last request of a connection is answered, if it is and nothing of another one has come. */
  idleSince(socket: Socket): number | undefined;
}

export function readRequestsSingly(
  server: Server,
  { isExempt = () => false, maxOfAddress = defaultMaxOfAddress }: ReadingOptions = {},
): RequestReading {
  const readers = new WeakMap<Socket, Reader>();
  const shared: Shared = {
    usual: createRequestQueue((source) => source, maxUsual),
    large: createRequestQueue((source) => source),
    held: new Map(),
    maxOfAddress,
    closePaced: createPacer(1),
  };
  // By default Node.js closes a half-closed connection at once, with or without an answer. The property is in no type.
  Object.assign(server, { httpAllowHalfOpen: true });

  server.on('connection', (socket: Socket) => {
    const { remoteAddress = '' } = socket;
    const isProxy = isExempt(unmapped(remoteAddress));
    readers.set(socket, new Reader(socket, networkOf(remoteAddress), isProxy, shared));
  });
  const begin = (request: IncomingMessage, response: ServerResponse): void =>
    readers.get(request.socket)?.begin(request, response);
  // With a listener for `checkContinue`, Node.js would leave the answer to `Expect: 100-continue` to it.
  for (const event of ['request', 'checkExpectation']) server.prependListener(event, begin);
  server.prependListener('upgrade', (_request: IncomingMessage, socket: Socket) => readers.get(socket)?.upgrade());
  return {
    finish() {
      shared.usual.beginAll();
      shared.large.beginAll();
    },
    idleSince: (socket) => readers.get(socket)?.idleSince,
  };
}

interface Shared {
  /** The turns of usual requests, and of what is larger. */
  readonly usual: RequestQueue<RequestSource>;
  readonly large: RequestQueue<RequestSource>;
  /** How many bytes are in memory of each address. */
  readonly held: Map<string, number>;
  readonly maxOfAddress: number;
  /** To destroy a connection takes 0.4 ms where its bytes are left unread. */
  readonly closePaced: (task: () => void) => void;
}

/** Reads one connection. */
class Reader {
  readonly #socket: Socket;
  /** With the credential of the last request. That of the next one is unknown until it is parsed. */
  #source: RequestSource;
  /** Its bytes are not counted, and its usual requests do not wait. */
  readonly #isProxy: boolean;
  readonly #shared: Shared;
  /** Node's own listeners. */
  readonly #parsers: ReturnType<typeof replaceReaders>;
  /** The answer to the newest request, and how many are not sent. */
  #response: ServerResponse | undefined;
  #unanswered = 0;
  #lastAnswerAt = 0;
  /** The bytes that come wait for their turn, for an answer, or for nothing any more: the connection is being closed. */
  #waitsFor: 'turn' | 'answer' | 'close' | undefined;
  #hasTurn = false;
  #isUpgraded = false;
  /** How many bytes of the newest request's body, as far as its length is known, are still to come. No request is in them. */
  #bodyLeft = 0;
  /** The length of the body of the request whose head was parsed last; `undefined` if the last bytes held no end of a head. */
  #newBodyLength: number | undefined;
  /** The newest request's body comes in chunks. */
  #isChunked = false;
  /** How many bytes of line breaks the last bytes end with, at most four. They may be the first part of a head's end. */
  #lineBreaks = 0;
  /** How many bytes are in memory: of the head that is being read or answered, and put back. */
  #headBytes = 0;
  #waitingBytes = 0;
  /** How many of them are counted for the address. */
  #heldBytes = 0;

  constructor(socket: Socket, network: string, isProxy: boolean, shared: Shared) {
    this.#socket = socket;
    this.#source = { address: network, credential: '' };
    this.#isProxy = isProxy;
    this.#shared = shared;
    this.#parsers = replaceReaders(socket, (chunk) => this.#read(chunk));
    socket.on('end', () => this.#end()).once('close', () => this.#release());
  }

  begin({ headers }: IncomingMessage, response: ServerResponse): void {
    const credential = credentialOf(headers) ?? '';
    if (credential !== this.#source.credential) this.#source = { ...this.#source, credential };
    this.#newBodyLength = Number(headers['content-length'] ?? 0);
    this.#isChunked = headers['transfer-encoding'] !== undefined;
    this.#response = response;
    this.#unanswered += 1;
    response.once('close', () => this.#answered());
  }

  get idleSince(): number | undefined {
    const isReading = this.#isUpgraded || this.#waitsFor !== undefined || this.#headBytes > 0 || this.#bodyLeft > 0;
    return this.#unanswered > 0 || isReading || this.#lastAnswerAt === 0 ? undefined : this.#lastAnswerAt;
  }

  /** From here on the bytes are no requests. */
  upgrade(): void {
    this.#isUpgraded = true;
    this.#release();
  }

  #read(chunk: Buffer): void {
    if (this.#isUpgraded) return;
    // Whoever reads a body resumes its socket, also before its turn.
    if (this.#waitsFor) return void this.#putBack(chunk);
    if (this.#isAnswerDue()) return void this.#wait('answer', chunk);
    if (!this.#hasTurn) {
      this.#enterQueue(chunk);
      if (!this.#hasTurn) return void this.#wait('turn', chunk);
    }
    this.#hasTurn = false;
    this.#waitingBytes = 0;
    const length = this.#lengthOfTurn(chunk);
    const end = this.#parseUpToRequest(length < chunk.length ? chunk.subarray(0, length) : chunk);
    if (this.#socket.destroyed) return;
    if (end >= chunk.length) return void this.#hold();
    const rest = chunk.subarray(end);
    if (this.#isUpgraded) return void this.#socket.unshift(rest);
    // Node pauses a client that does not read its answers, or whose body nobody reads, and resumes it itself.
    if (this.#socket.isPaused()) {
      this.#socket.unshift(rest);
      return void this.#holdWaiting(rest.length);
    }
    const isAnswerDue = this.#isAnswerDue();
    this.#wait(isAnswerDue ? 'answer' : 'turn', rest);
    if (!isAnswerDue) setImmediate(() => this.#enterQueue(rest));
  }

  #wait(what: 'turn' | 'answer', bytes: Buffer): void {
    this.#waitsFor = what;
    this.#putBack(bytes);
  }

  #putBack(bytes: Buffer): void {
    putBack(this.#socket, bytes);
    this.#holdWaiting(bytes.length);
  }

  /** In the queue this is the turn of the bytes that wait, or, at once, of those that are being read. */
  readonly #takeTurn = (): void => {
    this.#hasTurn = true;
    if (this.#waitsFor === 'turn') this.#goOn();
  };

  readonly #goOn = (): void => {
    if (this.#waitsFor === 'close' || this.#socket.destroyed) return;
    this.#waitsFor = undefined;
    resumeReading(this.#socket);
  };

  #answered(): void {
    this.#unanswered -= 1;
    this.#lastAnswerAt = performance.now();
    if (this.#unanswered === 0) this.#headBytes = 0;
    this.#hold();
    // In another iteration of the event loop than the last request.
    if (this.#waitsFor === 'answer' && !this.#isAnswerDue()) setImmediate(this.#goOn);
    // Else an idle connection would keep it in memory.
    if (this.#response?.req.complete) this.#response = undefined;
  }

  #end(): void {
    if (this.#response?.headersSent && !this.#response.writableEnded) this.#socket.end();
  }

  /** The newest request has come whole, and is not answered. More than one is unanswered where its length is not known. */
  #isAnswerDue(): boolean {
    return this.#unanswered > 1 || (this.#unanswered > 0 && this.#response?.req.complete === true);
  }

  #enterQueue({ length }: Buffer): void {
    const isUsual = length - this.#bodyLeft <= usualBytes && length <= usualBodyBytes;
    if (isUsual && this.#isProxy) this.#takeTurn();
    else (isUsual ? this.#shared.usual : this.#shared.large).enter(this.#source, this.#takeTurn);
  }

  /** How many bytes of the chunk are parsed in one turn. */
  #lengthOfTurn(chunk: Buffer): number {
    if (this.#bodyLeft > 0) return this.#bodyLeft;
    return this.#isChunked ? endOfLines(chunk) : maxHeadBytes;
  }

  /** Parses up to the end of the first request that begins in the chunk, and returns where that is. */
  #parseUpToRequest(chunk: Buffer): number {
    let at = 0;
    for (let slices = 0; slices < maxSlices && at < chunk.length && !this.#isUpgraded; slices += 1) {
      const bodyEnd = at + this.#bodyLeft;
      const { headEnd, end } = this.#isEndSplit(chunk, at)
        ? { headEnd: at + 1, end: at + 1 }
        : nextHeadEnd(chunk, bodyEnd);
      const isBody = this.#response?.req.complete === false;
      this.#newBodyLength = undefined;
      this.#parse(at === 0 && end === chunk.length ? chunk : chunk.subarray(at, end));
      const newBodyLength: number | undefined = this.#newBodyLength;
      if (newBodyLength !== undefined) this.#headBytes += headEnd - at;
      else if (!isBody) this.#headBytes += end - at;
      this.#bodyLeft = Math.max(0, newBodyLength === undefined ? bodyEnd - end : newBodyLength - (end - headEnd));
      this.#lineBreaks = lineBreaksBefore(chunk, at, end, this.#lineBreaks);
      at = end;
      if (this.#isAnswerDue() || (newBodyLength !== undefined && chunk.length - at > this.#bodyLeft)) break;
    }
    return at;
  }

  #parse(bytes: Buffer): void {
    for (const parser of this.#parsers) Reflect.apply(parser, this.#socket, [bytes]);
  }

  /** The bytes before may hold the first part of a head's end: the rest of it is parsed byte by byte. */
  #isEndSplit(chunk: Buffer, at: number): boolean {
    const isPart = this.#lineBreaks > 0 && this.#lineBreaks < endOfHead.length;
    return isPart && this.#bodyLeft === 0 && isLineBreak(chunk[at]);
  }

  #holdWaiting(bytes: number): void {
    this.#waitingBytes = bytes;
    this.#hold();
  }

  /** Counts what is in memory of the connection, and closes it if its address has no room for more. */
  #hold(): void {
    const bytes = this.#headBytes + this.#waitingBytes;
    if (this.#isProxy || (this.#heldBytes === 0 && bytes < smallBytes)) return;
    const before = this.#heldBytes;
    this.#heldBytes = bytes < smallBytes ? 0 : bytes;
    const { address } = this.#source;
    const sum = (this.#shared.held.get(address) ?? 0) + this.#heldBytes - before;
    if (sum > 0) this.#shared.held.set(address, sum);
    else this.#shared.held.delete(address);
    if (sum <= this.#shared.maxOfAddress || this.#heldBytes <= before) return;
    this.#release();
    this.#waitsFor = 'close';
    this.#socket.pause();
    this.#shared.closePaced(() => this.#socket.destroy());
  }

  #release(): void {
    this.#headBytes = 0;
    this.#waitingBytes = 0;
    this.#hold();
  }
}

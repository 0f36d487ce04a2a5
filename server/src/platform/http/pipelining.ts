/**
 * What is read of the connections, and when. Invariants:
 *
 * - A request is read when the one before it on its connection is answered. A client may send requests without waiting
 *   for their answers (HTTP pipelining), and a chunk of 64 KiB holds 2,000 of them: sending more gains nothing, and takes
 *   no memory but that of a chunk.
 * - An iteration of the event loop reads a bounded part of a connection: one request, 4 KiB of a head, or a few lines of
 *   a body in chunks (`Transfer-Encoding: chunked`), of which 64 KiB may hold 10,000, each as costly as a large one. Of
 *   what is longer than a usual request, it reads such parts of few connections, in rotation between addresses.
 * - What waits to be read, and heads that do not end, take a bounded amount of memory for each address.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { networkOf } from '../addresses.ts';
import { createDestroyer } from './destroyer.ts';
import { createRequestQueue } from './request-queue.ts';

/** The end of a request's head. A body may contain it too. */
const endOfHead = '\r\n\r\n';
/** How many empty lines in a body of unknown length, each of which may be the end of a head, are read in an iteration. */
const maxSlices = 32;
/** A chunk of a body has two lines or more: its length and its bytes. */
const maxLines = 96;
/** Of a head, which may have a thousand lines in so many bytes. */
const maxHeadBytes = 4096;
/** A usual request is parsed without a turn: to put it back, and to read it again, costs as much as to parse it. */
const maxFreeBytes = 2048;
/** What follows a head in the same bytes is parsed with it, unless it is longer: it may be many chunks. */
const maxAfterHead = 1024;
/** What waits on a connection and is shorter is not counted. */
const smallBytes = 4096;
const defaultMaxOfAddress = 32 * 1024 * 1024;

interface Reading {
  /** Whose bytes are counted; `undefined` for a proxy's. */
  readonly network: string | undefined;
  /** How many bytes of the last request's body, as far as its length is known, are still to come. No request is in them. */
  bodyLeft: number;
  /** The length of the body of the request whose head was read last; `undefined` if the last bytes held no end of a head. */
  newBodyLength: number | undefined;
  /** How many bytes of line breaks the last bytes end with, at most four. They may be the first part of a head's end. */
  lineBreaks: number;
  /** The last request's body comes in chunks. */
  chunked: boolean;
  /** How many bytes are in memory: of a head that has not ended, of the heads of unanswered requests, and put back. */
  headBytes: number;
  requestBytes: number;
  waitingBytes: number;
  /** How many of them are counted for the address. */
  heldBytes: number;
  /** The bytes that come wait for their turn, for an answer, or for nothing any more: the connection is being closed. */
  waits: 'turn' | 'answer' | 'end' | undefined;
  /** It is the turn of the bytes that come. */
  hasTurn: boolean;
  /** The newest request, and how many are not answered. */
  newest: IncomingMessage | undefined;
  unanswered: number;
  upgraded: boolean;
  /** Called when the connection may be read again. */
  readonly goOn: () => void;
}

export interface ReadingOptions {
  /** Whether connections from this address are not counted: a proxy carries those of many people. */
  readonly isExempt?: (address: string) => boolean;
  /** How many bytes may wait, or be of heads without an end, of one address. */
  readonly maxOfAddress?: number;
}

function putBack(socket: Socket, bytes: Buffer): void {
  socket.pause();
  socket.unshift(bytes);
}

export function readRequestsSingly(
  server: Server,
  { isExempt = () => false, maxOfAddress = defaultMaxOfAddress }: ReadingOptions = {},
): void {
  const readings = new WeakMap<Socket, Reading>();
  const turns = createRequestQueue(({ remoteAddress = '' }: Socket) => ({
    address: networkOf(remoteAddress),
    credential: '',
  }));
  const held = new Map<string, number>();
  const destroyInTurn = createDestroyer();

  function release(reading: Reading): void {
    Object.assign(reading, { headBytes: 0, requestBytes: 0, waitingBytes: 0 });
    hold(reading);
  }

  /** Counts what is in memory of a connection, and returns whether its address has room for it. */
  function hold(reading: Reading): boolean {
    const { network, heldBytes: before } = reading;
    const bytes = reading.headBytes + reading.requestBytes + reading.waitingBytes;
    if (network === undefined || (before === 0 && bytes < smallBytes)) return true;
    reading.heldBytes = bytes < smallBytes ? 0 : bytes;
    const sum = (held.get(network) ?? 0) + reading.heldBytes - before;
    if (sum > 0) held.set(network, sum);
    else held.delete(network);
    return sum <= maxOfAddress || reading.heldBytes <= before;
  }

  server.on('connection', (socket: Socket) => {
    const { remoteAddress = '' } = socket;
    const reading: Reading = {
      // A dual-stack socket reports IPv4 addresses as mapped IPv6 addresses.
      network: isExempt(remoteAddress.replace(/^::ffff:/, '')) ? undefined : networkOf(remoteAddress),
      bodyLeft: 0,
      newBodyLength: undefined,
      lineBreaks: 0,
      chunked: false,
      headBytes: 0,
      requestBytes: 0,
      waitingBytes: 0,
      heldBytes: 0,
      waits: undefined,
      hasTurn: false,
      newest: undefined,
      unanswered: 0,
      upgraded: false,
      goOn() {
        if (reading.waits === 'end') return;
        reading.waits = undefined;
        socket.resume();
      },
    };
    readings.set(socket, reading);
    socket.once('close', () => release(reading));
    const parse = (bytes: Buffer): void => {
      for (const parser of parsers) Reflect.apply(parser, socket, [bytes]);
    };
    const takeTurn = (): void => {
      reading.hasTurn = true;
      reading.goOn();
    };
    const holdOrClose = (): void => {
      if (hold(reading)) return;
      release(reading);
      reading.waits = 'end';
      socket.pause();
      destroyInTurn(socket);
    };
    const waitFor = (what: Reading['waits'], bytes: Buffer): void => {
      // Node pauses a client that does not read its answers, and resumes it itself.
      const isPaused = socket.isPaused();
      putBack(socket, bytes);
      if (!isPaused) reading.waits = what;
      reading.waitingBytes = bytes.length;
      holdOrClose();
    };
    const parsers = replaceReaders(socket, (chunk) => {
      if (reading.upgraded) return;
      // Whoever reads a body resumes its socket, also before its turn.
      if (reading.waits) return putBack(socket, chunk);
      if (isAnswerDue(reading)) return waitFor('answer', chunk);
      if (!reading.hasTurn && chunk.length - reading.bodyLeft > maxFreeBytes && !turns.mayBegin()) {
        waitFor('turn', chunk);
        if (reading.waits === 'turn') turns.enter(socket, takeTurn);
        return;
      }
      reading.hasTurn = false;
      reading.waitingBytes = 0;
      const end = readUpToRequest(chunk.subarray(0, lengthOfTurn(chunk, reading)), reading, parse);
      if (socket.destroyed) return;
      if (end >= chunk.length) return holdOrClose();
      waitFor('turn', chunk.subarray(end));
      if (reading.upgraded) {
        release(reading);
        setImmediate(reading.goOn);
      } else if (reading.waits === 'turn') setImmediate(() => turns.enter(socket, takeTurn));
    });
  });

  const begin = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket, headers } = request;
    const reading = readings.get(socket);
    if (!reading) return;
    reading.newBodyLength = Number(headers['content-length'] ?? 0);
    reading.chunked = headers['transfer-encoding'] !== undefined;
    reading.newest = request;
    reading.unanswered += 1;
    response.once('close', () => {
      reading.unanswered -= 1;
      if (reading.unanswered > 0) return;
      reading.newest = undefined;
      reading.requestBytes = 0;
      hold(reading);
      if (reading.waits === 'answer') reading.goOn();
    });
  };
  // With a listener for `checkContinue`, Node.js would leave the answer to `Expect: 100-continue` to it.
  for (const event of ['request', 'checkExpectation']) server.prependListener(event, begin);
  // From here on the bytes are no requests.
  server.prependListener('upgrade', (_request: IncomingMessage, socket: Socket) => {
    const reading = readings.get(socket);
    if (!reading) return;
    reading.upgraded = true;
    release(reading);
  });
}

/** The newest request has come whole, and is not answered. */
const isAnswerDue = ({ unanswered, newest }: Reading): boolean => unanswered > 0 && newest?.complete === true;

/** How many bytes of the chunk are read in one turn. */
function lengthOfTurn(chunk: Buffer, { bodyLeft, chunked }: Reading): number {
  // A body of known length is read without a turn, and what follows it in the next one.
  if (bodyLeft > 0) return bodyLeft;
  return chunked ? endOfLines(chunk) : maxHeadBytes;
}

/** Parses up to the end of the first request that begins in the chunk, and returns where that is. */
function readUpToRequest(chunk: Buffer, reading: Reading, parse: (bytes: Buffer) => void): number {
  let at = 0;
  for (let slices = 0; slices < maxSlices && at < chunk.length && !reading.upgraded; slices += 1) {
    const bodyEnd = at + reading.bodyLeft;
    const { headEnd, end } = isEndSplit(chunk, at, reading) ? { headEnd: at + 1, end: at + 1 } : endsOf(chunk, bodyEnd);
    reading.newBodyLength = undefined;
    parse(at === 0 && end === chunk.length ? chunk : chunk.subarray(at, end));
    const { newBodyLength } = reading;
    if (newBodyLength === undefined) {
      if (reading.bodyLeft === 0 && !reading.chunked) reading.headBytes += end - at;
      reading.bodyLeft = Math.max(0, bodyEnd - end);
    } else {
      reading.requestBytes += reading.headBytes + headEnd - at;
      reading.headBytes = 0;
      reading.bodyLeft = Math.max(0, newBodyLength - (end - headEnd));
    }
    reading.lineBreaks = lineBreaksBefore(chunk, at, end, reading.lineBreaks);
    at = end;
    if (isAnswerDue(reading) || (newBodyLength !== undefined && chunk.length - at > reading.bodyLeft)) break;
  }
  return at;
}

/** The bytes before may hold the first part of a head's end: the rest of it is parsed byte by byte. */
const isEndSplit = (chunk: Buffer, at: number, { bodyLeft, lineBreaks }: Reading): boolean =>
  bodyLeft === 0 && lineBreaks > 0 && lineBreaks < endOfHead.length && isLineBreak(chunk[at]);

/** Where the first head after the body ends, and up to where it is parsed. */
function endsOf(chunk: Buffer, bodyEnd: number): { headEnd: number; end: number } {
  const found = chunk.indexOf(endOfHead, bodyEnd);
  const headEnd = found < 0 ? chunk.length : found + endOfHead.length;
  const isLast = found < 0 || chunk.indexOf(endOfHead, headEnd) < 0;
  const isShort = isLast && chunk.length - headEnd <= maxAfterHead;
  return { headEnd, end: isShort ? chunk.length : endOfLineBreaks(chunk, headEnd) };
}

/** How many bytes of line breaks stand before this place, at most as many as end a head. */
function lineBreaksBefore(chunk: Buffer, start: number, end: number, before: number): number {
  let first = end;
  while (first > start && end - first < endOfHead.length && isLineBreak(chunk[first - 1])) first -= 1;
  return Math.min(endOfHead.length, end - first + (first === start ? before : 0));
}

const isLineBreak = (byte: number | undefined): boolean => byte === 0x0d || byte === 0x0a;

function endOfLines(chunk: Buffer): number {
  let end = 0;
  for (let lines = 0; lines < maxLines && end < chunk.length; end += 1) if (chunk[end] === 0x0a) lines += 1;
  return end;
}

/** Line breaks before a request mean nothing: many of them are one slice. */
function endOfLineBreaks(chunk: Buffer, from: number): number {
  let end = from;
  while (isLineBreak(chunk[end])) end += 1;
  return end;
}

/**
 * Returns the former listeners. They are removed after the new one is added: an emitter without a listener for an event
 * that it had takes 800 bytes more, because V8 then keeps its events as a hash table.
 */
export function replaceReaders(socket: Socket, read: (chunk: Buffer) => void) {
  const former = socket.listeners('data');
  socket.on('data', read);
  for (const listener of former) socket.off('data', listener as typeof read);
  return former;
}

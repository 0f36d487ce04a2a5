/**
 * A client may send requests without waiting for their answers, and a chunk of 64 KiB holds 2,000 of them. Node calls the
 * handlers of all of them in one iteration of the event loop, a tenth of a second for each connection that does this,
 * in which nobody else is answered. Here an iteration reads one request of a connection: sending more gains nothing.
 *
 * The same holds for a body in chunks (`Transfer-Encoding: chunked`), of which 64 KiB may hold 10,000 of one byte, and each
 * costs as much as a large one: an iteration reads a few lines of a connection's, and those of few connections of an address.
 *
 * A client that ends its side of the connection after a request (half-close) gets the answer all the same, however long it
 * takes. Only a stream ends with it: most clients that end a connection while they read one are gone.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { networkOf } from '../addresses.ts';
import { createRequestQueue } from './request-queue.ts';

/** The end of a request's head. A body may contain it too. */
const endOfHead = '\r\n\r\n';
/** How many empty lines in a body of unknown length, each of which may be the end of a head, are read in an iteration. */
const maxSlices = 32;
/** A chunk of a body has two lines or more: its length and its bytes. */
const maxLines = 96;
/** What follows a head in the same bytes is parsed with it, unless it is longer: it may be many chunks. */
const maxAfterHead = 1024;

interface Reading {
  /** How many bytes of the last request's body, as far as its length is known, are still to come. No request is in them. */
  bodyLeft: number;
  /** The length of the body of the request whose head was read last; `undefined` if the last bytes held no end of a head. */
  newBodyLength: number | undefined;
  /** The last bytes may hold the first part of a head's end, so the next end that is found may not be the first one. */
  isEndSplit: boolean;
  /** The last request's body comes in chunks. */
  chunked: boolean;
  /** The rest of the bytes waits for another iteration. */
  waits: boolean;
  upgraded: boolean;
  /** The answer to the last request. */
  response: ServerResponse | undefined;
}

function putBack(socket: Socket, bytes: Buffer): void {
  socket.pause();
  socket.unshift(bytes);
}

export function readRequestsSingly(server: Server): void {
  const readings = new WeakMap<Socket, Reading>();
  const turns = createRequestQueue(({ remoteAddress = '' }: Socket) => ({
    address: networkOf(remoteAddress),
    credential: '',
  }));
  // By default Node.js closes such a connection at once, with or without an answer. The property is in no type.
  Object.assign(server, { httpAllowHalfOpen: true });

  server.on('connection', (socket: Socket) => {
    const reading: Reading = {
      bodyLeft: 0,
      newBodyLength: undefined,
      isEndSplit: false,
      chunked: false,
      waits: false,
      upgraded: false,
      response: undefined,
    };
    readings.set(socket, reading);
    socket.on('end', () => {
      if (reading.response?.headersSent && !reading.response.writableEnded) socket.end();
    });
    const parse = (bytes: Buffer): void => {
      for (const parser of parsers) Reflect.apply(parser, socket, [bytes]);
    };
    const goOn = (): void => {
      reading.waits = false;
      socket.resume();
    };
    const parsers = replaceReaders(socket, (chunk) => {
      if (reading.upgraded) return;
      // Whoever reads a body resumes its socket, also before its turn.
      if (reading.waits) return putBack(socket, chunk);
      const lines = reading.chunked ? chunk.subarray(0, endOfLines(chunk)) : chunk;
      const end = readUpToRequest(lines, reading, parse);
      if (end >= chunk.length || socket.destroyed) return;
      // Node pauses a client that does not read its answers, and resumes it itself.
      const held = socket.isPaused();
      putBack(socket, chunk.subarray(end));
      if (held) return;
      reading.waits = true;
      setImmediate(() => (reading.chunked ? turns.enter(socket, goOn) : goOn()));
    });
  });

  const begin = ({ socket, headers }: IncomingMessage, response: ServerResponse): void => {
    const reading = readings.get(socket);
    if (!reading) return;
    reading.response = response;
    reading.newBodyLength = Number(headers['content-length'] ?? 0);
    reading.chunked = headers['transfer-encoding'] !== undefined;
  };
  // With a listener for `checkContinue`, Node.js would leave the answer to `Expect: 100-continue` to it.
  for (const event of ['request', 'checkExpectation']) server.prependListener(event, begin);
  // From here on the bytes are no requests.
  server.prependListener('upgrade', (_request: IncomingMessage, socket: Socket) => {
    const reading = readings.get(socket);
    if (reading) reading.upgraded = true;
  });
}

/** Parses up to the end of the first request that begins in the chunk, and returns where that is. */
function readUpToRequest(chunk: Buffer, reading: Reading, parse: (bytes: Buffer) => void): number {
  let at = 0;
  for (let slices = 0; slices < maxSlices && at < chunk.length && !reading.upgraded; slices += 1) {
    const bodyEnd = at + reading.bodyLeft;
    const found = chunk.indexOf(endOfHead, bodyEnd);
    const headEnd = found < 0 ? chunk.length : found + endOfHead.length;
    const isLast = found < 0 || chunk.indexOf(endOfHead, headEnd) < 0;
    const isShort = isLast && chunk.length - headEnd <= maxAfterHead;
    const end = isShort ? chunk.length : endOfLineBreaks(chunk, headEnd);
    reading.newBodyLength = undefined;
    parse(at === 0 && end === chunk.length ? chunk : chunk.subarray(at, end));
    const { newBodyLength } = reading;
    if (newBodyLength === undefined) reading.bodyLeft = Math.max(0, bodyEnd - end);
    else reading.bodyLeft = reading.isEndSplit || found < 0 ? 0 : Math.max(0, newBodyLength - (end - headEnd));
    reading.isEndSplit = isLineBreak(chunk[end - 1]) && !chunk.subarray(at, end).subarray(-4).every(isLineBreak);
    at = end;
    if (newBodyLength !== undefined && chunk.length - at > reading.bodyLeft) break;
  }
  return at;
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

/**
 * One HTTP/1.1 connection, one request at a time, as little work as possible: on two cores whoever sends the load must
 * not be what is measured. Requests are bytes made beforehand; of an answer only the status and the end are looked for.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  /** Headers and body as they came; valid until the next request. */
  readonly bytes: Buffer;
  readonly bodyAt: number;
}

/** The end of a body in chunks, with the end of the chunk before it, so that no line of the body is taken for it. */
const lastChunk = Buffer.from('\r\n0\r\n\r\n');

export class RawConnection {
  readonly #socket: Socket;
  #parts: Buffer[] = [];
  /** 0 until the head has come; of a body in chunks the head alone. */
  #expected = 0;
  #received = 0;
  #bodyAt = 0;
  #chunked = false;
  #closed = false;
  onAnswer: (answer: RawAnswer) => void = () => {};
  /** The server ended the connection, or could not be reached. */
  onFailure: (error: Error) => void = (error) => {
    throw error;
  };

  constructor(port: number, localAddress?: string) {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true, ...(localAddress ? { localAddress } : {}) });
    this.#socket.on('data', (chunk) => this.#take(chunk));
    this.#socket.on('error', (error) => this.#fail(error));
    this.#socket.on('close', () => this.#fail(new Error('the server closed a connection')));
  }

  opened(): Promise<unknown> {
    return once(this.#socket, 'connect');
  }

  send(request: Buffer): void {
    this.#socket.write(request);
  }

  close(): void {
    this.#closed = true;
    this.#socket.destroy();
  }

  #fail(error: Error): void {
    if (this.#closed) return;
    this.close();
    this.onFailure(error);
  }

  #take(chunk: Buffer): void {
    this.#parts.push(chunk);
    this.#received += chunk.length;
    if (this.#expected === 0) this.#readHead(chunk);
    if (!this.#isWhole()) return;
    const bytes = this.#parts.length === 1 ? chunk : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#received = 0;
    this.#expected = 0;
    this.onAnswer({ status: statusOf(bytes), bytes, bodyAt: this.#bodyAt });
  }

  #isWhole(): boolean {
    if (this.#expected === 0 || this.#received < this.#expected) return false;
    if (!this.#chunked) return true;
    const newest = Buffer.concat(this.#parts.slice(-lastChunk.length).map((part) => part.subarray(-lastChunk.length)));
    return newest.subarray(-lastChunk.length).equals(lastChunk);
  }

  #readHead(chunk: Buffer): void {
    const bytes = this.#parts.length === 1 ? chunk : Buffer.concat(this.#parts);
    this.#parts = [bytes];
    const end = bytes.indexOf('\r\n\r\n');
    if (end < 0) return;
    const head = bytes.toString('latin1', 0, end);
    const length = /content-length: (\d+)/i.exec(head);
    this.#chunked = length === null && /transfer-encoding: chunked/i.test(head);
    this.#bodyAt = end + 4;
    this.#expected = this.#bodyAt + Number(length?.[1] ?? 0);
  }
}

const digitAt = (bytes: Buffer, index: number): number => bytes.readUInt8(index) - 48;
const statusOf = (bytes: Buffer): number => digitAt(bytes, 9) * 100 + digitAt(bytes, 10) * 10 + digitAt(bytes, 11);

export function requestBytes(method: string, path: string, headers: Record<string, string>, body?: string): Buffer {
  const lines = Object.entries({
    host: 'localhost:8080',
    ...headers,
    ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }),
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body ?? ''}`);
}

/** A client's frame of at most 125 bytes, masked with zeros (RFC 6455, section 5.2). */
export function clientFrame(opcode: number, payload = ''): Buffer {
  const bytes = Buffer.from(payload);
  return Buffer.concat([Buffer.of(0x80 | opcode, 0x80 | bytes.length, 0, 0, 0, 0), bytes]);
}

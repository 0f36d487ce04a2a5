import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/**
 * One HTTP/1.1 connection, one request at a time, as little work as possible: on two cores the load generator must
 * not be what is measured. Requests are bytes made beforehand; of an answer only the status and the end are looked for.
 */
export interface RawAnswer {
  readonly status: number;
  /** Headers and body as they came; valid until the next request. */
  readonly bytes: Buffer;
  readonly bodyAt: number;
}

export class RawConnection {
  readonly #socket: Socket;
  #parts: Buffer[] = [];
  #expected = 0;
  #received = 0;
  #bodyAt = 0;
  #closed = false;
  onAnswer: (answer: RawAnswer) => void = () => {};

  constructor(port: number, host = '127.0.0.1') {
    this.#socket = connect({ port, host, noDelay: true });
    this.#socket.on('data', (chunk) => this.#take(chunk));
    this.#socket.on('error', (error) => {
      throw error;
    });
    this.#socket.on('close', () => {
      if (!this.#closed) throw new Error('the server closed a connection');
    });
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

  #take(chunk: Buffer): void {
    this.#parts.push(chunk);
    this.#received += chunk.length;
    if (this.#expected === 0) this.#readHead(chunk);
    if (this.#expected === 0 || this.#received < this.#expected) return;
    const bytes = this.#parts.length === 1 ? chunk : Buffer.concat(this.#parts);
    this.#parts = [];
    this.#received = 0;
    this.#expected = 0;
    this.onAnswer({ status: statusOf(bytes), bytes, bodyAt: this.#bodyAt });
  }

  #readHead(chunk: Buffer): void {
    const bytes = this.#parts.length === 1 ? chunk : Buffer.concat(this.#parts);
    this.#parts = [bytes];
    const end = bytes.indexOf('\r\n\r\n');
    if (end < 0) return;
    const length = /content-length: (\d+)/i.exec(bytes.toString('latin1', 0, end));
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

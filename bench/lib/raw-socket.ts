import { randomBytes } from 'node:crypto';
import { connect, type Socket } from 'node:net';

/** One WebSocket as a client, reading frames with as little work as possible (RFC 6455). Frames of a server are not masked. */
export class RawSocket {
  readonly #socket: Socket;
  #rest: Buffer | undefined;
  #upgraded = false;
  /** A text frame lies in `bytes` from `start` to `end`. */
  onText: (bytes: Buffer, start: number, end: number) => void = () => {};

  constructor(port: number, path: string) {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.write(
      `GET ${path} HTTP/1.1\r\nHost: localhost:8080\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
        `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\n\r\n`,
    );
    this.#socket.on('data', (chunk) => this.#take(chunk));
    this.#socket.on('error', (error) => {
      throw error;
    });
  }

  sendText(text: string): void {
    this.#send(0x81, Buffer.from(text));
  }

  close(): void {
    this.#socket.destroy();
  }

  #send(head: number, payload: Buffer): void {
    if (payload.length > 125) throw new Error('only short frames are sent');
    // A mask of zeros is a mask, and leaves the payload as it is.
    this.#socket.write(Buffer.concat([Buffer.from([head, 0x80 | payload.length, 0, 0, 0, 0]), payload]));
  }

  #take(chunk: Buffer): void {
    let bytes = this.#rest ? Buffer.concat([this.#rest, chunk]) : chunk;
    this.#rest = undefined;
    if (!this.#upgraded) {
      const end = bytes.indexOf('\r\n\r\n');
      if (end < 0) {
        this.#rest = bytes;
        return;
      }
      if (!bytes.toString('latin1', 0, 12).endsWith('101')) throw new Error(`no upgrade: ${bytes.toString('latin1')}`);
      this.#upgraded = true;
      bytes = bytes.subarray(end + 4);
    }
    let at = 0;
    for (;;) {
      const frame = readFrame(bytes, at);
      if (!frame) break;
      if (frame.opcode === 1) this.onText(bytes, frame.start, frame.end);
      else if (frame.opcode === 9) this.#send(0x8a, bytes.subarray(frame.start, frame.end));
      else if (frame.opcode === 8) throw new Error(`closed by the server: ${bytes.readUInt16BE(frame.start)}`);
      at = frame.end;
    }
    if (at < bytes.length) this.#rest = bytes.subarray(at);
  }
}

function readFrame(bytes: Buffer, at: number): { opcode: number; start: number; end: number } | undefined {
  if (bytes.length - at < 2) return undefined;
  const short = bytes.readUInt8(at + 1) & 0x7f;
  const start = at + (short < 126 ? 2 : short === 126 ? 4 : 10);
  if (bytes.length < start) return undefined;
  const length =
    short < 126 ? short : short === 126 ? bytes.readUInt16BE(at + 2) : Number(bytes.readBigUInt64BE(at + 2));
  return bytes.length < start + length ? undefined : { opcode: bytes.readUInt8(at) & 0x0f, start, end: start + length };
}

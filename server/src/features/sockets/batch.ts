import type { StoredEvent } from '../events/index.ts';

/** Events in a row of one creator on their way out: encoded at most once in each form, whoever gets them. */
export class Batch {
  readonly events: readonly StoredEvent[];
  #frames: Buffer | undefined;
  #blocks: Buffer | undefined;

  constructor(events: readonly StoredEvent[]) {
    this.events = events;
  }

  get first(): number {
    return this.events[0]?.sequence ?? Number.POSITIVE_INFINITY;
  }

  get last(): number {
    return this.events.at(-1)?.sequence ?? 0;
  }

  /** For a socket. */
  get frames(): Buffer {
    this.#frames ??= Buffer.concat(this.events.map(({ body }) => textFrame(`{"type":"event","event":${body}}`)));
    return this.#frames;
  }

  /** For a stream of Server-Sent Events. A body is JSON and so stands on one line. */
  get blocks(): Buffer {
    this.#blocks ??= Buffer.from(
      this.events.map(({ sequence, body }) => `id: ${sequence}\ndata: ${body}\n\n`).join(''),
    );
    return this.#blocks;
  }
}

/** One whole, unmasked text frame (RFC 6455, section 5.2). */
export function textFrame(text: string): Buffer {
  return frame(0x1, text);
}

/** A protocol-level ping, which every peer answers by itself. */
export const pingFrame: Buffer = frame(0x9, '');

function frame(opcode: number, text: string): Buffer {
  const length = Buffer.byteLength(text);
  const start = length < 126 ? 2 : length < 65_536 ? 4 : 10;
  const buffer = Buffer.allocUnsafe(start + length);
  buffer[0] = 0x80 | opcode;
  if (start === 2) buffer[1] = length;
  else if (start === 4) {
    buffer[1] = 126;
    buffer.writeUInt16BE(length, 2);
  } else {
    buffer[1] = 127;
    buffer.writeBigUInt64BE(BigInt(length), 2);
  }
  buffer.write(text, start);
  return buffer;
}

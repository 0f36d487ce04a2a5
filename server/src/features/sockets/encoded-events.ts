import type { StoredEvent } from '../events/index.ts';

/** Consecutive events of one creator. Each encoding is made at most once and shared by all connections. */
export class EncodedEvents {
  readonly events: readonly StoredEvent[];
  #webSocketFrames: Buffer | undefined;
  #sseBlocks: Buffer | undefined;

  constructor(events: readonly StoredEvent[]) {
    this.events = events;
  }

  get first(): number {
    return this.events[0]?.sequence ?? Number.POSITIVE_INFINITY;
  }

  get last(): number {
    return this.events.at(-1)?.sequence ?? 0;
  }

  get webSocketFrames(): Buffer {
    this.#webSocketFrames ??= Buffer.concat(
      this.events.map(({ body }) => textFrame(`{"type":"event","event":${body}}`)),
    );
    return this.#webSocketFrames;
  }

  /** A body is JSON without line breaks, so one `data:` line holds it. */
  get sseBlocks(): Buffer {
    this.#sseBlocks ??= Buffer.from(
      this.events.map(({ sequence, body }) => `id: ${sequence}\ndata: ${body}\n\n`).join(''),
    );
    return this.#sseBlocks;
  }
}

/** An unfragmented, unmasked text frame (RFC 6455, section 5.2). */
export function textFrame(text: string): Buffer {
  return frame(0x1, text);
}

/** A ping frame. Every WebSocket implementation answers it with a pong. */
export const pingFrame: Buffer = frame(0x9, '');

/** The answer to a client's ping: the same payload. */
export function pongFrame(payload: Buffer): Buffer {
  return Buffer.concat([Buffer.of(0x8a, payload.length), payload]);
}

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

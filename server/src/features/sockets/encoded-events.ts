import type { RawEvent, StoredEvent } from '../events/index.ts';

/** Consecutive events of one creator. Each encoding is made at most once and shared by all connections. */
export class EncodedEvents {
  readonly raw: readonly RawEvent[];
  #events: readonly StoredEvent[] | undefined;
  #webSocketFrames: Buffer | undefined;
  #sseBlocks: Buffer | undefined;

  constructor(events: readonly RawEvent[]) {
    this.raw = events;
  }

  get first(): number {
    return this.raw[0]?.sequence ?? Number.POSITIVE_INFINITY;
  }

  get last(): number {
    return this.raw.at(-1)?.sequence ?? 0;
  }

  /** The events with their bodies as text. */
  get events(): readonly StoredEvent[] {
    this.#events ??= this.raw.map((event) => ({ ...event, body: textOf(event.body) }));
    return this.#events;
  }

  get webSocketFrames(): Buffer {
    this.#webSocketFrames ??= Buffer.concat(this.raw.flatMap(({ body }) => eventFrame(bytesOf(body))));
    return this.#webSocketFrames;
  }

  /** A body is JSON without line breaks, so one `data:` line holds it. */
  get sseBlocks(): Buffer {
    this.#sseBlocks ??= Buffer.concat(
      this.raw.flatMap(({ sequence, body }) => [Buffer.from(`id: ${sequence}\ndata: `), bytesOf(body), blockEnd]),
    );
    return this.#sseBlocks;
  }

  /** The bodies, with commas between them, between two texts. */
  inJson(before: string, after: string): Buffer {
    const list = this.raw.flatMap(({ body }, index) => (index === 0 ? [bytesOf(body)] : [comma, bytesOf(body)]));
    return Buffer.concat([Buffer.from(before), ...list, Buffer.from(after)]);
  }
}

const comma = Buffer.from(',');
const blockEnd = Buffer.from('\n\n');
const beforeEvent = Buffer.from('{"type":"event","event":');
const afterEvent = Buffer.from('}');

const eventFrame = (body: Uint8Array): Uint8Array[] => [
  frameHeader(0x1, beforeEvent.length + body.length + afterEvent.length),
  beforeEvent,
  body,
  afterEvent,
];

const bytesOf = (body: string | Uint8Array): Uint8Array => (typeof body === 'string' ? Buffer.from(body) : body);

const textOf = (body: string | Uint8Array): string =>
  typeof body === 'string' ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();

/** An unfragmented, unmasked text frame (RFC 6455, section 5.2). */
export function textFrame(text: string): Buffer {
  return frame(0x1, text);
}

/** What a socket sends besides events. */
export interface Notice {
  readonly type: string;
  readonly [field: string]: unknown;
}

export const encodeFrame = (notice: Notice): Buffer => textFrame(JSON.stringify(notice));

/** A ping frame. Every WebSocket implementation answers it with a pong. */
export const pingFrame: Buffer = frame(0x9, '');

/** The answer to a client's ping: the same payload. */
export function pongFrame(payload: Buffer): Buffer {
  return Buffer.concat([Buffer.of(0x8a, payload.length), payload]);
}

function frame(opcode: number, text: string): Buffer {
  return Buffer.concat([frameHeader(opcode, Buffer.byteLength(text)), Buffer.from(text)]);
}

function frameHeader(opcode: number, length: number): Buffer {
  const header = Buffer.allocUnsafe(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  header[0] = 0x80 | opcode;
  if (header.length === 2) header[1] = length;
  else if (header.length === 4) {
    header[1] = 126;
    header.writeUInt16BE(length, 2);
  } else {
    header[1] = 127;
    header.writeBigUInt64BE(BigInt(length), 2);
  }
  return header;
}

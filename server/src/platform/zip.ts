/**
 * Writes a ZIP archive while it is read: nothing is held in memory but a piece of the entry that is being written and the
 * directory, which comes last. Format: PKWARE APPNOTE 6.3.10. Sizes are not known before an entry's content, so they
 * follow it (4.3.9). Entries and archives above 4 GiB have the fields of ZIP64 in the directory (4.5.3).
 */
import { pipeline, Readable } from 'node:stream';
import { crc32, createDeflateRaw } from 'node:zlib';

export interface ZipEntry {
  /** A relative path with slashes. */
  readonly name: string;
  readonly content: AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>;
}

interface Written {
  readonly name: Buffer;
  readonly crc: number;
  readonly packed: number;
  readonly size: number;
  readonly offset: number;
}

const deflated = 8;
/** Sizes follow the content; names are UTF-8. */
const flags = 0x0808;
const version = { plain: 20, zip64: 45 };
/** A regular file that only its owner may read, made on Unix. */
const madeOnUnix = 3 << 8;
const fileMode = 0o100600 * 2 ** 16;
const most32 = 0xffff_ffff;
const most16 = 0xffff;

export async function* zip(entries: AsyncIterable<ZipEntry>, at: Date): AsyncGenerator<Buffer> {
  const written: Written[] = [];
  const time = dosTime(at);
  let offset = 0;
  for await (const { name, content } of entries) {
    const path = Buffer.from(name);
    const head = record([4, 0x04034b50], [2, version.plain], ...commonFields(time, 0, 0, 0), [2, path.length], [2, 0]);
    yield Buffer.concat([head, path]);
    const read = { crc: 0, size: 0 };
    let packed = 0;
    const compressed = createDeflateRaw();
    // A source that fails, and a reader that goes away, end the other side.
    pipeline(Readable.from(measured(content, read)), compressed, () => {});
    for await (const piece of compressed) {
      packed += piece.length;
      yield piece;
    }
    const { crc, size } = read;
    const width = Math.max(packed, size) > most32 ? 8 : 4;
    const descriptor = record([4, 0x08074b50], [4, crc], [width, packed], [width, size]);
    yield descriptor;
    written.push({ name: path, crc, packed, size, offset });
    offset += head.length + path.length + packed + descriptor.length;
  }
  const directory = Buffer.concat(written.map((entry) => directoryEntry(entry, time)));
  yield directory;
  yield directoryEnd(written.length, directory.length, offset);
}

/** Passes the content on, and adds up what the directory says of it. */
async function* measured(content: ZipEntry['content'], read: { crc: number; size: number }): AsyncGenerator<Buffer> {
  for await (const piece of content) {
    const bytes =
      typeof piece === 'string' ? Buffer.from(piece) : Buffer.from(piece.buffer, piece.byteOffset, piece.length);
    read.crc = crc32(bytes, read.crc);
    read.size += bytes.length;
    yield bytes;
  }
}

function directoryEntry({ name, crc, packed, size, offset }: Written, time: number): Buffer {
  const large = Math.max(packed, size, offset) > most32;
  const extra = large ? record([2, 1], [2, 24], [8, size], [8, packed], [8, offset]) : Buffer.alloc(0);
  const fields = large ? commonFields(time, crc, most32, most32) : commonFields(time, crc, packed, size);
  const needed = large ? version.zip64 : version.plain;
  const lengths: Field[] = [
    [2, name.length],
    [2, extra.length],
    [2, 0],
  ];
  const rest: Field[] = [
    [2, 0],
    [2, 0],
    [4, fileMode],
    [4, large ? most32 : offset],
  ];
  return Buffer.concat([
    record([4, 0x02014b50], [2, madeOnUnix | needed], [2, needed], ...fields, ...lengths, ...rest),
    name,
    extra,
  ]);
}

function directoryEnd(entries: number, size: number, offset: number): Buffer {
  const large = entries > most16 || Math.max(size, offset) > most32;
  const end64 = record(
    ...([
      [4, 0x06064b50],
      [8, 44],
      [2, madeOnUnix | version.zip64],
      [2, version.zip64],
      [4, 0],
      [4, 0],
    ] satisfies Field[]),
    ...([
      [8, entries],
      [8, entries],
      [8, size],
      [8, offset],
    ] satisfies Field[]),
  );
  const locator = record([4, 0x07064b50], [4, 0], [8, offset + size], [4, 1]);
  const [count, sizeField, offsetField] = large ? [most16, most32, most32] : [entries, size, offset];
  const end = record([4, 0x06054b50], [2, 0], [2, 0], [2, count], [2, count], [4, sizeField], [4, offsetField], [2, 0]);
  return large ? Buffer.concat([end64, locator, end]) : end;
}

const commonFields = (time: number, crc: number, packed: number, size: number): Field[] => [
  [2, flags],
  [2, deflated],
  [4, time],
  [4, crc],
  [4, packed],
  [4, size],
];

type Field = readonly [bytes: 2 | 4 | 8, value: number];

/** Little-endian fields, one after the other. */
function record(...fields: readonly Field[]): Buffer {
  const bytes = Buffer.alloc(fields.reduce((sum, [width]) => sum + width, 0));
  let at = 0;
  for (const [width, value] of fields) {
    if (width === 8) bytes.writeBigUInt64LE(BigInt(value), at);
    else bytes.writeUIntLE(value, at, width);
    at += width;
  }
  return bytes;
}

/** The date in the upper half, the time in the lower one, in steps of two seconds, here in UTC. */
function dosTime(at: Date): number {
  const date = ((at.getUTCFullYear() - 1980) << 9) | ((at.getUTCMonth() + 1) << 5) | at.getUTCDate();
  const time = (at.getUTCHours() << 11) | (at.getUTCMinutes() << 5) | (at.getUTCSeconds() >> 1);
  return date * 2 ** 16 + time;
}

import assert from 'node:assert/strict';
import { crc32, inflateRawSync } from 'node:zlib';

/** The files of an archive, found by its directory and compared with what it says of them. */
export function unzip(archive: Buffer): Map<string, Buffer> {
  const end = archive.length - 22;
  assert.equal(archive.readUInt32LE(end), 0x06054b50, 'the end of the directory');
  const files = new Map<string, Buffer>();
  let at = archive.readUInt32LE(end + 16);
  for (let left = archive.readUInt16LE(end + 10); left > 0; left -= 1) {
    assert.equal(archive.readUInt32LE(at), 0x02014b50, 'an entry of the directory');
    const [crc, packed, size] = [16, 20, 24].map((field) => archive.readUInt32LE(at + field));
    const [nameLength = 0, extraLength = 0] = [28, 30].map((field) => archive.readUInt16LE(at + field));
    const head = archive.readUInt32LE(at + 42);
    const name = archive.toString('utf8', at + 46, at + 46 + nameLength);
    assert.equal(archive.readUInt32LE(head), 0x04034b50, `the head of ${name}`);
    const content = head + 30 + archive.readUInt16LE(head + 26) + archive.readUInt16LE(head + 28);
    const bytes = inflateRawSync(archive.subarray(content, content + (packed ?? 0)));
    assert.deepEqual([bytes.length, crc32(bytes)], [size, crc], name);
    assert.ok(!files.has(name), `${name} is there twice`);
    files.set(name, bytes);
    at += 46 + nameLength + extraLength;
  }
  assert.equal(at, end, 'the length of the directory');
  return files;
}

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { toSfnt } from './woff.ts';

const folder = new URL('../../../node_modules/@fontsource/ibm-plex-sans-thai/files/', import.meta.url);

test('a packed font is unpacked whole: every table has its place and its checksum', () => {
  for (const name of ['thai-400', 'latin-400', 'thai-700', 'latin-700']) {
    const font = toSfnt(readFileSync(new URL(`ibm-plex-sans-thai-${name}-normal.woff`, folder)));
    assert.equal(font.readUInt32BE(0), 0x00010000);
    const tags: string[] = [];
    for (let at = 12; at < 12 + 16 * font.readUInt16BE(4); at += 16) {
      const tag = font.toString('latin1', at, at + 4);
      const [checksum, offset, length] = [4, 8, 12].map((from) => font.readUInt32BE(at + from));
      tags.push(tag);
      // The checksum of `head` leaves a field of its own out.
      if (tag !== 'head') assert.equal(sumOf(font, offset ?? 0, length ?? 0), checksum, `${name} ${tag}`);
    }
    for (const tag of ['cmap', 'glyf', 'head', 'name']) assert.ok(tags.includes(tag), `${name} ${tag}`);
  }
});

function sumOf(font: Buffer, offset: number, length: number): number {
  let sum = 0;
  for (let at = offset; at < offset + length; at += 4) sum = (sum + font.readUInt32BE(at)) >>> 0;
  return sum;
}

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { unzip } from '../../test/unzip.ts';
import { type ZipEntry, zip } from './zip.ts';

async function* from(...entries: ZipEntry[]): AsyncGenerator<ZipEntry> {
  yield* entries;
}

test('an archive has its entries in order, whatever pieces their content comes in', async () => {
  const random = randomBytes(300_000);
  const archive = zip(
    from(
      { name: 'empty.txt', content: [] },
      { name: 'folder/ไทย.txt', content: ['สวัสดี', Buffer.from(' bytes'), ' and more'] },
      { name: 'random.bin', content: [random.subarray(0, 1), random.subarray(1)] },
    ),
    new Date('2026-11-16T04:00:30.000Z'),
  );
  const files = unzip(await buffer(archive));
  assert.deepEqual([...files.keys()], ['empty.txt', 'folder/ไทย.txt', 'random.bin']);
  assert.equal(files.get('folder/ไทย.txt')?.toString(), 'สวัสดี bytes and more');
  assert.equal(files.get('empty.txt')?.length, 0);
  assert.ok(files.get('random.bin')?.equals(random));
});

test('a content that fails ends the archive with its error, and a reader that goes away ends the content', async () => {
  async function* failing(): AsyncGenerator<string> {
    yield 'a beginning';
    throw new RangeError('no more');
  }
  await assert.rejects(buffer(zip(from({ name: 'a', content: failing() }), new Date())), RangeError);
  const ended = Promise.withResolvers<void>();
  async function* endless(): AsyncGenerator<Uint8Array> {
    try {
      for (;;) yield randomBytes(10_000);
    } finally {
      ended.resolve();
    }
  }
  for await (const piece of zip(from({ name: 'a', content: endless() }), new Date())) if (piece.length > 1000) break;
  await ended.promise;
});

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { crc32, deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { temporaryDirectory } from '../../test/temporary-directory.ts';
import { createPictures, PictureError } from './pictures.ts';
import { QueueFull } from './work-queue.ts';

const solid = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: { r: 255, g: 0, b: 0 } } });

/** A PNG that says it is so large, black or with other pixels, which are as small as they can be packed. */
function bomb(width: number, height: number, pixels = Buffer.alloc(Math.ceil(width / 8 + 1) * Math.min(height, 2000))) {
  const chunk = (type: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    check.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, check]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([1, 0, 0, 0, 0], 8);
  const rows = deflateSync(pixels);
  const start = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
  return Buffer.concat([start, chunk('IHDR', head), chunk('IDAT', rows), chunk('IEND', Buffer.alloc(0))]);
}

/** By processor time: on a busy machine more time passes. */
function assertLittleWork(since: NodeJS.CpuUsage): void {
  const { user, system } = process.cpuUsage(since);
  assert.ok(user + system < 1_000_000, `${user + system} µs of processor time`);
}

const refusedFor = (problem: string) => (error: unknown) => error instanceof PictureError && error.problem === problem;

test('security 45: a picture of more than 40 megapixels is refused before it is decoded', async () => {
  const pictures = createPictures();
  await pictures.encodeAnew('owner', await solid(4, 4).png().toBuffer(), 512); // the library is loaded
  for (const [width, height] of [
    [50_000, 50_000],
    [6_400, 6_400],
    [1_000_000, 50],
  ] as const) {
    const picture = bomb(width, height);
    const before = process.cpuUsage();
    await assert.rejects(pictures.encodeAnew('owner', picture, 512), refusedFor('pixels'));
    assertLittleWork(before);
  }
  assert.ok((await pictures.encodeAnew('owner', await solid(6000, 6000).png().toBuffer(), 512)).bytes.length < 10_000);
});

test('security 45: a picture whose lines take gigabytes is refused before it is decoded', async () => {
  const pictures = createPictures();
  for (const [width, height] of [
    [20_000_000, 2],
    [2, 20_000_000],
    [16_385, 2],
  ] as const)
    for (const encode of [pictures.encodeAnew, pictures.encodeAnimated])
      await assert.rejects(encode('owner', bomb(width, height), 512), refusedFor('pixels'), `${width} x ${height}`);
  assert.ok((await pictures.encodeAnew('owner', bomb(16_384, 2), 512)).bytes.length > 0);
});

test('a picture that takes too long is told from one that is broken', async () => {
  const pictures = createPictures(1);
  const [edge, rowBytes] = [6300, 789];
  const noise = randomBytes(edge * rowBytes);
  for (let row = 0; row < edge; row++) noise[row * rowBytes] = 0; // no filter
  const slow = bomb(edge, edge, noise);
  await assert.rejects(pictures.encodeAnew('owner', slow, edge), refusedFor('time'));
  await assert.rejects(pictures.encodeAnew('owner', slow.subarray(0, 2000), edge), refusedFor('kind'));
});

test('an animation of few pixels in countless frames is refused before one is decoded', async () => {
  const pictures = createPictures();
  const countless = tinyFrames(200_000);
  const before = process.cpuUsage();
  await assert.rejects(pictures.encodeAnimated('owner', countless, 800), refusedFor('pixels'));
  assertLittleWork(before);
  const { bytes } = await pictures.encodeAnimated('owner', tinyFrames(900), 800);
  assert.equal((await sharp(bytes, { animated: true }).metadata()).pages, 900);
});

/** A GIF with frames of one pixel, 23 bytes each. */
function tinyFrames(count: number): Buffer {
  const text = (ascii: string) => [...Buffer.from(ascii)];
  const head = [...text('GIF89a'), 1, 0, 1, 0, 0x80, 0, 0, 0, 0, 0, 255, 255, 255];
  const endless = [0x21, 0xff, 11, ...text('NETSCAPE2.0'), 3, 1, 0, 0, 0];
  const frame = (pixel: number) =>
    Buffer.from([0x21, 0xf9, 4, 0, 2, 0, 0, 0, 0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, pixel, 1, 0]);
  const [black, white] = [frame(0x44), frame(0x4c)];
  const frames = Array.from({ length: count }, (_, i) => (i % 2 === 0 ? black : white));
  return Buffer.concat([Buffer.from([...head, ...endless]), ...frames, Buffer.from([0x3b])]);
}

test('a picture is turned as its camera says, and made smaller, never larger', async () => {
  const pictures = createPictures();
  const sideways = await solid(300, 100).jpeg().withMetadata({ orientation: 6 }).toBuffer();
  const { type, bytes } = await pictures.encodeAnew('owner', sideways, 90);
  const { width, height, orientation } = await sharp(bytes).metadata();
  assert.deepEqual([type, width, height, orientation], ['image/jpeg', 30, 90, undefined]);
  const small = await pictures.encodeAnew('owner', await solid(5, 5).webp().toBuffer(), 512);
  assert.equal((await sharp(small.bytes).metadata()).width, 5);
});

test('other kinds, and files that only begin like a picture, are refused', async () => {
  const pictures = createPictures();
  const svg = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>';
  const png = await solid(64, 64).png({ compressionLevel: 0 }).toBuffer();
  const kinds = [
    Buffer.from(svg),
    await solid(9, 9).gif().toBuffer(),
    await solid(9, 9).tiff().toBuffer(),
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    Buffer.concat([png.subarray(0, 8), Buffer.from(svg)]),
    png.subarray(0, 5000),
    Buffer.alloc(0),
  ];
  for (const bytes of kinds) await assert.rejects(pictures.encodeAnew('owner', bytes, 512), refusedFor('kind'));
});

test('security 37: one picture is worked on at a time, few wait, and the rest are refused', async () => {
  const pictures = createPictures();
  const bytes = await solid(3000, 3000).png().toBuffer();
  const results = await Promise.allSettled(Array.from({ length: 20 }, () => pictures.encodeAnew('owner', bytes, 512)));
  const refused = results.filter((result) => result.status === 'rejected');
  assert.equal(refused.length, 15);
  for (const { reason } of refused) assert.ok(reason instanceof QueueFull);
});

test('a text is drawn again once there is room for the fonts', async (t) => {
  const pictures = createPictures();
  const text = { kind: 'text', markup: 'น้ำใจ', left: 0, top: 0, width: 200, height: 40 } as const;
  const draw = () => pictures.draw('owner', { width: 200, height: 40, ground: '#ffffff', layers: [text] });
  const [before, directory] = [process.env.TMPDIR, temporaryDirectory(t)];
  t.after(() => {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
  });
  process.env.TMPDIR = '/proc/none';
  await assert.rejects(draw(), { code: 'ENOENT' });
  process.env.TMPDIR = directory;
  assert.equal((await sharp(await draw()).metadata()).width, 200);
});

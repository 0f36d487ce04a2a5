import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertBelow } from '../../../test/assert-below.ts';
import { buildApp } from '../../../test/build-app.ts';
import { parseFields, parseParts } from './form-fields.ts';

const isRefused = ({ details }: { details?: { message: string }[] }) =>
  /well-formed|at most \d+ (fields|bytes)/.test(details?.[0]?.message ?? '');

const multipart = 'multipart/form-data; boundary=x';
const part = (name: string, headers = '') =>
  `--x\r\ncontent-disposition: form-data; name="${name}"\r\n${headers}\r\n1\r\n`;

test('a form of two hundred fields is parsed, one of more is not', () => {
  const fields = (count: number) => Array.from({ length: count }, (_, i) => `f${i}=1`).join('&');
  assert.equal([...parseFields(fields(200))].length, 200);
  assert.throws(() => parseFields(fields(201)), isRefused);
  assert.throws(() => parseFields('&'.repeat(2_000_000)), isRefused);
});

test('a form with files has few parts, whose headers are short', async () => {
  const form = (...parts: string[]) => Buffer.from(`${parts.join('')}--x--\r\n`);
  const usual = form(part('a'), part('b"; filename="c.png', 'content-type: image/png\r\n'));
  assert.deepEqual([...(await parseParts(usual, multipart)).keys()], ['a', 'b']);
  const file = Buffer.from(part('a"; filename="b').slice(0, -3));
  const large = Buffer.concat([file, Buffer.alloc(5_000_000), Buffer.from('\r\n--x--')]);
  assert.equal(((await parseParts(large, multipart)).get('a') as File).size, 5_000_000);
  const wrong = [
    form(...Array.from({ length: 41 }, () => part('a'))),
    form(part('a', 'a:b\r\n'.repeat(1_000_000))),
    form(part('a'.repeat(20_000))),
    Buffer.from(`--x\r\n${'a:b\r\n'.repeat(10_000)}`),
    Buffer.alloc(100),
  ];
  for (const body of wrong) await assert.rejects(parseParts(body, multipart), isRefused);
  for (const type of ['multipart/form-data; boundary', 'multipart/form-data; =', 'multipart/form-data;;'])
    await assert.rejects(parseParts(usual, type), isRefused);
});

test('security 41: a form is searched with pauses and once, whatever its bytes are', async () => {
  const boundary = '----abcdefghijklmnopqrstuvwxyz';
  const file = `--${boundary}\r\ncontent-disposition: form-data; name="a"; filename="b"\r\n\r\n`;
  const megabytes = (text: string) => text.repeat(7_000_000 / text.length);
  const bodies = [
    // Without the end of a head: 40 searches of all of it took 2.6 s.
    `--${boundary}\r\n`.repeat(39) + megabytes('\r'),
    file + megabytes('\r'),
    file + megabytes('\r\n-----'),
    file + megabytes(`\r\n--${boundary.slice(0, -1)}`),
  ];
  /** Microseconds of processor time in the longest turn, and how many turns there were. */
  async function search(bytes: Buffer): Promise<{ longest: number; turns: number }> {
    let [longest, turns, last, goesOn] = [0, 0, process.threadCpuUsage(), true];
    const tick = () => {
      const now = process.threadCpuUsage();
      longest = Math.max(longest, now.user + now.system - last.user - last.system);
      turns += 1;
      last = now;
      if (goesOn) setImmediate(tick);
    };
    setImmediate(tick);
    const parsing = parseParts(bytes, `multipart/form-data; boundary=${boundary}`);
    await assert.rejects(
      parsing.finally(() => (goesOn = false)),
      isRefused,
    );
    tick();
    return { longest, turns };
  }
  for (const body of bodies) {
    const bytes = Buffer.from(body);
    const measure = async () => {
      const { longest, turns } = await search(bytes);
      if (body.startsWith(file)) assert.ok(turns > 100, `a pause after each part: ${turns} turns`);
      return longest;
    };
    await assertBelow('µs of the longest turn', 40_000, measure, 3);
  }
});

test('the texts of a form with files are as short as those of any form', async () => {
  const text = (length: number) =>
    Buffer.from(`--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n${'<'.repeat(length)}\r\n--x--\r\n`);
  assert.equal(String((await parseParts(text(65_536), multipart)).get('a')).length, 65_536);
  await assert.rejects(parseParts(text(65_537), multipart), isRefused);
});

test('a form is read as browsers and programs write it', async () => {
  const sent = new FormData();
  sent.append('a "name"\r\n', 'น้ำใจ\r\n--x\r\n');
  sent.append('empty', '');
  sent.append('file', new File(['\r\n--', new Uint8Array([0, 255])], 'a "b"\n.png', { type: 'image/png' }));
  const response = new Response(sent);
  const type = response.headers.get('content-type') ?? '';
  const read = await parseParts(Buffer.from(await response.arrayBuffer()), type);
  assert.deepEqual([...read.keys()], ['a "name"\r\n', 'empty', 'file']);
  assert.deepEqual([read.get('a "name"\r\n'), read.get('empty')], ['น้ำใจ\r\n--x\r\n', '']);
  const file = read.get('file') as File;
  assert.deepEqual(
    [file.name, file.type, [...new Uint8Array(await file.arrayBuffer())]],
    ['a "b"\n.png', 'image/png', [13, 10, 45, 45, 0, 255]],
  );
});

test('the boundary is the one that the parser takes', async () => {
  const body = Buffer.from(`${part('a').repeat(100)}--x--\r\n`);
  for (const type of ['boundary="x"', 'BOUNDARY=x; boundary=y', 'a=b;boundary="\\x"'])
    await assert.rejects(parseParts(body, `multipart/form-data; ${type}`), isRefused, type);
});

test('security 25: a stranger’s form of many fields costs others nothing', async (t) => {
  const { http, runtime } = await buildApp(t);
  const headers = { 'content-type': 'application/x-www-form-urlencoded', origin: runtime.config.authUrl };
  const answer = async (url: string, payload: string) => {
    const { statusCode } = await http.inject({ method: 'POST', url, headers, payload });
    return statusCode;
  };
  const short = 'a&'.repeat(30_000);
  assert.equal(await answer('/login', short), 422);
  assert.equal(await answer('/v1/oauth/token', short), 400);
});

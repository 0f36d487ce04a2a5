import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../../../test/build-app.ts';
import { parseFields, parseParts } from './form-fields.ts';

const isRefused = ({ details }: { details?: { message: string }[] }) =>
  /well-formed|at most \d+ fields/.test(details?.[0]?.message ?? '');

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
  const large = Buffer.concat([Buffer.from(part('a').slice(0, -3)), Buffer.alloc(5_000_000), Buffer.from('\r\n--x--')]);
  assert.equal(String((await parseParts(large, multipart)).get('a')).length, 5_000_000);
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

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HttpError } from './http-error.ts';
import { parseJson } from './json-body.ts';

const parse = (text: string): unknown => parseJson(Buffer.from(text));
const nested = (levels: number): string => `${'[{"a":'.repeat(levels / 2)}1${'}]'.repeat(levels / 2)}`;

test('32 levels are read and one more is refused; brackets in texts or side by side are no levels', () => {
  assert.equal(JSON.stringify(parse(nested(32))), nested(32));
  assert.throws(() => parse(`[${nested(32)}]`), HttpError);
  assert.throws(() => parse(`["${'['.repeat(100)}",${nested(32)}]`), HttpError);
  for (const flat of [`["${'{['.repeat(100)}\\""]`, `[${'{},'.repeat(100)}{}]`, `{"a":[${'[],'.repeat(100)}[]]}`])
    assert.deepEqual(parse(flat), JSON.parse(flat));
});

test('security 25: a thousand arrays and objects are read, and more are refused', () => {
  const flat = `[${'[],'.repeat(998)}[]]`;
  assert.deepEqual(parse(flat), JSON.parse(flat));
  for (const text of [`[${'[],'.repeat(999)}[]]`, `[${`${'['.repeat(30)}${']'.repeat(30)},`.repeat(900)}1]`])
    assert.throws(
      () => parse(text),
      ({ details }: { details?: { message: string }[] }) => /1000 arrays/.test(details?.[0]?.message ?? ''),
    );
});

test('security 25: to look through a body costs little beside parsing it', () => {
  const texts = `["\\u0041",${'"",'.repeat(20_000)}1]`;
  const fastest = (work: () => unknown): number => {
    const times = Array.from({ length: 30 }, () => {
      const before = performance.now();
      work();
      return performance.now() - before;
    });
    return Math.min(...times);
  };
  const times = fastest(() => parse(texts)) / fastest(() => JSON.parse(texts));
  assert.ok(times < 3, `${times} times as long`);
});

test('security 25: a body that breaks a rule thousands of times is told fifty of them', () => {
  const body = Buffer.from(`[${'"\\u0000",'.repeat(7000)}1]`);
  assert.throws(
    () => parseJson(body),
    ({ details }: { details?: unknown[] }) => details?.length === 50,
  );
});

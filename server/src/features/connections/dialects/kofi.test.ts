import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sampleEvent, sampleRecipient } from './dialect.ts';
import { kofi } from './kofi.ts';

const dataOf = (event: object) => {
  const form = [...new URLSearchParams(kofi.write({ ...sampleEvent, ...event }, sampleRecipient).body)];
  assert.deepEqual(
    form.map(([field]) => field),
    ['data'],
  );
  return JSON.parse(form[0]?.[1] ?? '');
};

test('the sample is what is written', () => {
  assert.deepEqual(kofi.write(sampleEvent, sampleRecipient), kofi.sample);
});

test('names and messages arrive as they may be shown, whatever form encoding thinks of their characters', () => {
  const message = 'a+b & c=d %41 "quoted" \\ <script> 100% 😀\nสู้ ๆ';
  const { from_name, message: read } = dataOf({ name: 'A&B=C+D', message });
  assert.deepEqual([from_name, read], ['A&B=C+D', message]);
  assert.equal(dataOf({ message: null }).message, null);
  assert.equal(dataOf({ message: '' }).message, '');
});

test('amounts have two decimals', () => {
  assert.deepEqual(
    [1, 99, 100, 15_050, 10_000_000].map((amountMinor) => dataOf({ amountMinor }).amount),
    ['0.01', '0.99', '1.00', '150.50', '100000.00'],
  );
});

test('it has no word for a void', () => {
  assert.ok(!kofi.treatments.includes('void'));
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ConnectionEvent, sampleEvent } from './dialect.ts';
import { streamlabs, streamlabsSample } from './streamlabs.ts';

const recipient = { creatorName: 'Somsri', isNamed: false };

/** The donation that a program gets for an event. */
function donationOf(event: Partial<ConnectionEvent>) {
  const message = streamlabs({ ...sampleEvent, ...event }, recipient, null);
  assert.equal(message?.type, 'donation');
  return message.message[0];
}

test('a tip is a donation with all fields of the sample', () => {
  assert.deepEqual(streamlabs(sampleEvent, recipient, null), streamlabsSample);
});

test('a test alert is a donation that says so', () => {
  assert.equal(donationOf({ treatment: 'test' }).isTest, true);
  assert.equal(donationOf({}).isTest, false);
});

test('amounts are texts with two decimals', () => {
  const rows: [number, string, string][] = [
    [1, '0.01', '฿0.01'],
    [10_000, '100.00', '฿100.00'],
    [123_450, '1234.50', '฿1,234.50'],
    [10_000_000, '100000.00', '฿100,000.00'],
  ];
  for (const [amountMinor, text, formatted] of rows) {
    const { amount, formatted_amount, formattedAmount } = donationOf({ amountMinor });
    assert.deepEqual([amount, formatted_amount, formattedAmount], [text, formatted, formatted]);
  }
});

test('a message that is hidden, or that there is none of, is empty', () => {
  assert.equal(donationOf({ message: null }).message, '');
});

test('a void deletes the donation by which the tip was sent, and says nothing of one that was not', () => {
  const voided: ConnectionEvent = { ...sampleEvent, treatment: 'void', name: '', message: null };
  assert.deepEqual(streamlabs(voided, recipient, 3), {
    type: 'donationDelete',
    event_id: sampleEvent.eventId,
    message: { id: 3 },
  });
  assert.equal(streamlabs(voided, recipient, null), null);
});

test('a program that asks for it is told for what the message is', () => {
  const named = { ...recipient, isNamed: true };
  assert.equal(streamlabs(sampleEvent, named, null)?.for, 'streamlabs');
  assert.equal(streamlabs({ ...sampleEvent, treatment: 'void' }, named, 3)?.for, 'streamlabs');
  assert.ok(!('for' in streamlabsSample));
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createZone } from './zone.ts';

const iso = (ms: number) => new Date(ms).toISOString();

test('a month in Bangkok runs from midnight to midnight there', () => {
  const zone = createZone('Asia/Bangkok');
  for (const instant of ['2026-10-31T17:00:00.000Z', '2026-11-15T00:00:00.000Z', '2026-11-30T16:59:59.999Z']) {
    const month = zone.month(Date.parse(instant));
    assert.deepEqual(
      [month.key, iso(month.startsAt), iso(month.endsAt)],
      ['2026-11', '2026-10-31T17:00:00.000Z', '2026-11-30T17:00:00.000Z'],
    );
  }
  assert.equal(zone.month(Date.parse('2026-10-31T16:59:59.999Z')).key, '2026-10');
  assert.equal(zone.month(Date.parse('2026-12-31T17:00:00.000Z')).key, '2027-01');
});

test('days where clocks change begin at their first instant', () => {
  const newYork = createZone('America/New_York');
  assert.equal(iso(newYork.startOfDay(2026, 3, 8)), '2026-03-08T05:00:00.000Z');
  assert.equal(iso(newYork.startOfDay(2026, 3, 9)), '2026-03-09T04:00:00.000Z');
  assert.equal(iso(newYork.startOfDay(2026, 11, 1)), '2026-11-01T04:00:00.000Z');
  assert.equal(iso(newYork.startOfDay(2026, 11, 2)), '2026-11-02T05:00:00.000Z');
  // In Santiago midnight itself is skipped in spring and comes twice in autumn.
  const santiago = createZone('America/Santiago');
  assert.equal(iso(santiago.startOfDay(2026, 9, 6)), '2026-09-06T04:00:00.000Z');
  assert.equal(iso(santiago.startOfDay(2026, 4, 5)), '2026-04-05T04:00:00.000Z');
});

test('a reading of the clock and its instant belong together, also where clocks change', () => {
  const bangkok = createZone('Asia/Bangkok');
  const noon = Date.parse('2026-11-15T05:00:00.000Z');
  assert.equal(bangkok.reading(noon + 59_999), '2026-11-15T12:00');
  for (const text of ['2026-11-15T12:00', '2026-11-15 12:00', '2026-11-15T12:00:59.9'])
    assert.equal(bangkok.instant(text), noon, text);
  for (const none of ['', '2026-11-15', '2026-02-30T12:00', '2026-13-01T12:00', '2026-11-15T25:00', '12:00', 'now'])
    assert.equal(bangkok.instant(none), undefined, none);
  // In New York 02:30 does not exist on the one day, and is 03:30; 01:30 comes twice on the other.
  const newYork = createZone('America/New_York');
  assert.equal(iso(newYork.instant('2026-03-08T02:30') ?? 0), '2026-03-08T07:30:00.000Z');
  assert.equal(iso(newYork.instant('2026-11-01T01:30') ?? 0), '2026-11-01T05:30:00.000Z');
});

test('the last days end with the one that holds the instant, however long each is', () => {
  const newYork = createZone('America/New_York');
  const days = ['2026-10-30T04', '2026-10-31T04', '2026-11-01T04', '2026-11-02T05', '2026-11-03T05'];
  for (const instant of ['2026-11-02T05:00:00.000Z', '2026-11-03T04:59:59.999Z'])
    assert.deepEqual(
      newYork.lastDays(Date.parse(instant), 4).map((ms) => iso(ms).slice(0, 13)),
      days,
    );
  assert.equal(newYork.lastDays(Date.parse('2026-11-03T05:00:00.000Z'), 4)[0], Date.parse('2026-10-31T04:00:00.000Z'));
  assert.equal(newYork.lastDays(Date.parse('2026-11-02T05:00:00.000Z'), 1).length, 2);
});

test('an instant is written with the offset of its place and season', () => {
  const written: [zone: string, instant: string, text: string][] = [
    ['Asia/Bangkok', '2026-11-15T17:30:00.007Z', '2026-11-16T00:30:00.007+07:00'],
    ['UTC', '2026-11-15T17:30:00.000Z', '2026-11-15T17:30:00.000+00:00'],
    ['Asia/Kathmandu', '2026-11-15T17:30:00.000Z', '2026-11-15T23:15:00.000+05:45'],
    ['America/New_York', '2026-11-01T05:59:59.999Z', '2026-11-01T01:59:59.999-04:00'],
    ['America/New_York', '2026-11-01T06:00:00.000Z', '2026-11-01T01:00:00.000-05:00'],
    ['America/St_Johns', '2026-07-01T00:00:00.000Z', '2026-06-30T21:30:00.000-02:30'],
  ];
  for (const [zone, instant, text] of written) {
    assert.equal(createZone(zone).local(Date.parse(instant)), text);
    assert.equal(Date.parse(text), Date.parse(instant));
  }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../../sdk/test/until.ts';
import { StorageUnavailable } from './db/database.ts';
import { createOutage, watchOutages } from './outages.ts';

function recorder() {
  const said: [text: string, details: object][] = [];
  const log = { warn: (details: object, text: string) => void said.push([text, details]) };
  return { said, log: log as Parameters<typeof createOutage>[0] };
}

const words = { away: 'it is away', back: 'it is back' };

test('an outage is told once, and its end once, with how long it lasted', () => {
  const { said, log } = recorder();
  let now = 0;
  const outage = createOutage(log, words, () => now);
  outage.back();
  assert.equal(said.length, 0, 'it was never away');
  outage.away({ reason: 'first' });
  now = 61_240;
  outage.away({ reason: 'second' });
  outage.back();
  outage.back();
  outage.away({ reason: 'third' });
  assert.deepEqual(said, [
    ['it is away', { reason: 'first' }],
    ['it is back', { away_seconds: 61.2 }],
    ['it is away', { reason: 'third' }],
  ]);
});

test('a failed call is no outage while the part answers, and an outage is over when it does again', async () => {
  const { said, log } = recorder();
  let [away, probes] = [false, 0];
  const probe = async () => {
    probes += 1;
    if (away) throw new StorageUnavailable('gone', { reason: 'disk_full' });
  };
  const watch = watchOutages({ outage: createOutage(log, words), probe, everyMs: 1 });
  watch.suspect();
  await until('it was asked', () => probes === 1);
  assert.equal(said.length, 0);
  away = true;
  watch.suspect();
  await until('it was asked again and again', () => probes > 5);
  watch.suspect();
  away = false;
  await until('its end is told', () => said.length === 2);
  assert.deepEqual(
    said.map(([text]) => text),
    ['it is away', 'it is back'],
  );
  assert.equal(Object(said[0]?.[1]).reason, 'disk_full');
  watch.stop();
  const asked = probes;
  watch.suspect();
  assert.equal(probes, asked, 'nobody is asked after the end');
});

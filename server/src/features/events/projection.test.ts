import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forScreen } from './projection.ts';
import { type AlertStatus, alertStatuses, tipExample } from './schemas.ts';
import { eventTypes } from './types.ts';

const stored = (type: string, data: object) => ({
  sequence: 1,
  type,
  body: JSON.stringify({ type, test: false, data }),
  screened: null,
});

const words = { name: 'ANAN', display_name: 'Anan', message: 'the words of the tipper' };

function onScreen(type: string, status: AlertStatus) {
  const tip = { ...tipExample, ...words, alert: { ...tipExample.alert, status, name: 'A…', message: null } };
  const event = forScreen(stored(type, { tip }));
  return event && JSON.parse(event.body).data.tip;
}

test('of every event about a tip screens get only words that may be shown', () => {
  for (const [type, { screen }] of Object.entries(eventTypes).filter(([, { screen }]) => screen !== null))
    for (const status of alertStatuses) {
      const tip = onScreen(type, status);
      const isSent = screen !== 'words_if_queued' || status === 'queued';
      assert.equal(tip !== null, isSent, `${type} of a tip that is ${status}`);
      if (!isSent) continue;
      const name = screen === 'no_words' ? '' : 'A…';
      assert.deepEqual([tip.name, tip.display_name, tip.message], [name, null, null], `${type}, ${status}`);
    }
});

test('a tip in an event of a type that this version does not know is not sent to screens', () => {
  assert.equal(onScreen('tip.unknown', 'queued'), null);
  const event = stored('goal.unknown', { goal: {} });
  assert.equal(forScreen(event), event);
});

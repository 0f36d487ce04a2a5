import assert from 'node:assert/strict';
import { test } from 'node:test';
import { forScreen } from './projection.ts';
import { type AlertStatus, alertExample, alertStatuses, tipExample } from './schemas.ts';

const words = { name: 'ANAN', display_name: 'Anan', message: 'the words of the tipper' };
const shown = { name: 'A…', message: null };

function dataForScreen(type: string, data: object, screened: object | null = null) {
  const body = JSON.stringify({ type, test: false, data });
  const event = forScreen({ sequence: 1, type, body, screened: screened && JSON.stringify(screened) });
  return event && JSON.parse(event.body).data;
}

function tipForScreen(type: string, status: AlertStatus) {
  const tip = { ...tipExample, ...words, alert: { ...tipExample.alert, ...shown, status } };
  const data = dataForScreen(type, { tip });
  return data && { name: data.tip.name, display_name: data.tip.display_name, message: data.tip.message };
}

test('of every event about a tip screens get only the words that may be shown', () => {
  const allowed = { ...shown, display_name: null };
  const none = { name: '', display_name: null, message: null };
  for (const status of alertStatuses) {
    assert.deepEqual(tipForScreen('tip.created', status), status === 'queued' ? allowed : null, status);
    assert.deepEqual(tipForScreen('alert.approved', status), allowed);
    assert.deepEqual(tipForScreen('alert.replayed', status), allowed);
    assert.deepEqual(tipForScreen('tip.voided', status), none);
  }
});

test('of a test alert screens get the words that may be shown, and nothing if it is held', () => {
  const alert = { ...alertExample, ...words };
  const screened = dataForScreen('alert.test', { alert }, { held: false, ...shown }).alert;
  assert.deepEqual([screened.name, screened.display_name, screened.message], [shown.name, null, null]);
  assert.equal(dataForScreen('alert.test', { alert }, { held: true, ...shown }), null);
});

test('a tip or an alert in an event of a type that this version does not know is not sent to screens', () => {
  assert.equal(tipForScreen('tip.unknown', 'queued'), null);
  assert.equal(dataForScreen('alert.unknown', { alert: { ...alertExample, ...words } }), null);
  assert.deepEqual(dataForScreen('goal.unknown', { goal: {} }), { goal: {} });
});

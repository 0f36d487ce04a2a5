import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../../test/build-app.ts';
import { makeApp, makePair } from '../../test/factories.ts';
import { sendTip } from '../../test/trace.ts';
import { traceLines, viewOfApiTrace } from '../features/trace/index.ts';
import { main } from './main.ts';

test('trace beside the database tells the operator everything of a tip, by its id or that of an event', async (t) => {
  const app = await buildApp(t);
  const pair = await makePair(app.runtime, { app: await makeApp(app.runtime, 'Goal Bot') });
  const { webhooks } = app.runtime;
  await webhooks.add(pair.clientId, { url: 'https://app.example/hook', types: ['goal.reached'], description: null });
  const { id, requestId } = await sendTip(app, pair);
  const [event] = await app.runtime.events.after(pair.creatorId, 0, 1);
  const run = async (...args: string[]) => {
    let [out, err] = ['', ''];
    const stdout = { write: (text: string) => (out += text) };
    const stderr = { write: (text: string) => (err += text) };
    const code = await main(args, { env: { LOG_LEVEL: 'silent', ...app.env }, stdout, stderr });
    return { code, out, err };
  };
  // The command has the clock of the machine, which is far from that of the test.
  const { settings } = await app.runtime.overlays.get(pair.creatorId);
  await app.runtime.overlays.saveSettings(pair.creatorId, { ...settings, maxAgeMinutes: 100_000_000 });
  const text = await run('trace', id, '--creator', pair.username);
  assert.equal(text.code, 0, text.err);
  assert.match(text.out, new RegExp(`start +Namjai +Recorded by Goal Bot \\(${requestId}\\)\n`));
  assert.match(text.out, /^The alert has not been shown yet\.\n\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} +start /);
  assert.match(text.out, /not yet +Overlay +No overlay is open\./);
  assert.match(text.out, /Webhook 1 · Goal Bot +It is for other types of events/);
  assert.match(text.out, /is https:\/\/app\.example\/hook/);
  const eventId = JSON.parse(event?.body ?? '{}').id;
  const [byTip, byEvent] = await Promise.all(
    [id, eventId].map(async (each) => (await run('trace', each, '--creator', pair.username, '--json')).out),
  );
  assert.equal(byTip, byEvent);
  const { tip_id, steps, receivers } = JSON.parse(byTip ?? '');
  assert.deepEqual([tip_id, steps.length, receivers[0].url], [id, 2, 'https://app.example/hook']);
  await app.runtime.tips.void(pair.creatorId, id, { clientId: null, reason: 'Refunded\u001b[31m' });
  const voided = (await run('trace', id, '--creator', pair.username)).out;
  assert.match(voided, /Voided \(Refunded/);
  assert.ok(!voided.includes('\u001b'), 'a reason commands no terminal');
  const other = await makePair(app.runtime);
  for (const args of [
    ['trace', id, '--creator', other.username],
    ['trace', 'tip_unknown', '--creator', pair.username],
    ['trace', eventId, '--creator', other.username],
  ])
    assert.match((await run(...args)).err, /There is no tip/);
});

test('what a newer server tells beyond what this program knows is passed over', () => {
  const step = { at: '2026-11-15T04:00:00.000Z', outcome: null, detail: {} };
  const answer = JSON.parse(
    JSON.stringify({
      tip_id: 'tip_1',
      steps: [
        { ...step, kind: 'approved' },
        { ...step, kind: 'printed' },
      ],
      missing: [{ kind: 'overlay', reason: 'asleep', since: null, webhook_id: null, event_id: null }],
    }),
  );
  assert.deepEqual(traceLines(viewOfApiTrace(answer)), ['2026-11-15 04:00:00.000  start  Namjai  Approved']);
});

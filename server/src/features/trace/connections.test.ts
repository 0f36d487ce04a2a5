import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startKofi } from '../../../test/kofi-receiver.ts';
import { readTrace, sendTip } from '../../../test/trace.ts';
import { signedInVisitor } from '../../../test/visitor.ts';
import { buildWebhooks } from '../../../test/webhooks.ts';

test('a creator’s connections are lanes of the creator and the operator, never of an app, and say why they got nothing', async (t) => {
  const app = await buildWebhooks(t);
  const { runtime, worker, pair, clock } = app;
  const { creatorId } = pair;
  const kofi = await startKofi(t, 'word');
  const add = (label: string, minAmountMinor = 0) =>
    runtime.connections.add(creatorId, {
      kind: 'kofi',
      url: kofi.url,
      verificationToken: 'word',
      label,
      minAmountMinor,
    });
  const [open, large, off] = [
    await add('Bot of all'),
    await add('Bot of large', 100_000),
    await add('Bot that is off'),
  ];
  clock.advance(1000);
  await runtime.connections.change(creatorId, off.id, { enabled: false });
  const offSince = new Date(clock()).toISOString();
  clock.advance(1000);
  const { id } = await sendTip(app, pair);
  await runtime.screening.change(creatorId, (rules) => ({ ...rules, hold: { ...rules.hold, everything: true } }));
  const [held, approved] = [await sendTip(app, pair), await sendTip(app, pair)];
  clock.advance(1000);
  await runtime.overlays.approve(creatorId, approved.id);
  await worker.pass();
  const lanes = async (tip: string) => {
    const { steps, missing } = await runtime.traces.ofTip(creatorId, tip, 'creator');
    return [open, large, off].map(({ id: lane }) => [
      steps.filter((step) => step.lane === lane).map(({ outcome }) => outcome),
      missing.filter((step) => step.lane === lane).map(({ reason, since }) => (since ? `${reason} ${since}` : reason)),
    ]);
  };
  const disabled = `disabled ${offSince}`;
  const shown = [
    [['succeeded'], []],
    [[], ['below_minimum']],
    [[], [disabled]],
  ];
  assert.deepEqual(await lanes(id), shown);
  assert.deepEqual(await lanes(held.id), [
    [[], ['not_shown']],
    [[], ['not_shown']],
    [[], ['not_shown']],
  ]);
  assert.deepEqual(await lanes(approved.id), shown);
  const voided = await sendTip(app, pair);
  // It waits for its next attempt.
  kofi.answer = (response) => response.writeHead(500).end();
  await runtime.overlays.approve(creatorId, voided.id);
  await worker.pass();
  await runtime.tips.void(creatorId, voided.id, { clientId: null, reason: null });
  await worker.pass();
  assert.deepEqual(await lanes(voided.id), [
    [['failed'], ['not_shown']],
    [[], ['below_minimum']],
    [[], [disabled]],
  ]);
  for (const tip of [id, held.id, approved.id]) {
    const text = JSON.stringify(await readTrace(app, pair, tip));
    for (const secret of ['Bot of', open.id, large.id, off.id, kofi.url]) assert.ok(!text.includes(secret), secret);
  }
  const operator = await runtime.traces.ofTip(creatorId, id, 'operator');
  assert.ok(operator.receivers.some(({ name }) => name === 'Bot of all'));
  const page = await (await signedInVisitor(app, creatorId)).get(`/dashboard/tips/${id}`);
  for (const text of [
    'Bot of all',
    'Bot of large',
    'below the smallest amount of this connection',
    'It is switched off',
  ])
    assert.ok(page.body.includes(text), text);
  assert.ok(!page.body.includes(kofi.url));
});

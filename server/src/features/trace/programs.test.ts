import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../../../sdk/test/until.ts';
import { makePair } from '../../../test/factories.ts';
import { openProgram } from '../../../test/programs.ts';
import { listen } from '../../../test/sockets.ts';
import { readTrace, sendTip } from '../../../test/trace.ts';
import { signedInVisitor } from '../../../test/visitor.ts';
import { keptEvents, writes } from '../connections/stream-keys/sends-repo.ts';

test('a stream key is a lane of the creator and the operator, never of an app: what was sent, or why not', async (t) => {
  const app = await listen(t);
  const { runtime, clock } = app;
  const pair = await makePair(runtime);
  const { creatorId } = pair;
  const make = async (label: string, minimumMinor = 0) =>
    (await runtime.streamKeys.make(creatorId, { label, minimumMinor })) ?? '';
  const bot = await make('Bot one');
  await make('Bot of large', 100_000);
  clock.advance(1000);
  const before = await sendTip(app, pair);
  clock.advance(1000);
  const program = await openProgram(t, app, bot, { transports: ['websocket'] });
  const sent = await sendTip(app, pair);
  await until('the program has it', () => program.messages.length === 1);
  await runtime.tips.void(creatorId, sent.id, { clientId: null, reason: null });
  await until('it has the void', () => program.messages.length === 2);
  program.close();
  await until('it is closed', async () => (await runtime.openKeys.connected(creatorId)).size === 0);
  const closedAt = new Date(clock()).toISOString();
  clock.advance(1000);
  const later = await sendTip(app, pair);
  await runtime.screening.change(creatorId, (rules) => ({ ...rules, hold: { ...rules.hold, everything: true } }));
  const held = await sendTip(app, pair);
  clock.advance(1000);
  await make('Bot too late');

  const keys = await runtime.streamKeys.list(creatorId);
  const [one, large, late] = ['Bot one', 'Bot of large', 'Bot too late'].map((label) =>
    keys.find((key) => key.label === label),
  );
  const lanes = async (tip: string) => {
    const { steps, missing } = await runtime.traces.ofTip(creatorId, tip, 'creator');
    return [one, large, late].map((key) => [
      ...steps.flatMap((step) => (step.lane === key?.id && step.kind === 'program' ? step.detail.type : [])),
      ...missing.flatMap(({ lane, reason, since }) => (lane === key?.id ? `${reason} ${since ?? ''}`.trim() : [])),
    ]);
  };
  const addedLater = `added_later ${new Date(clock()).toISOString()}`;
  assert.deepEqual(await lanes(before.id), [[`no_program ${closedAt}`], ['below_minimum'], [addedLater]]);
  assert.deepEqual(await lanes(sent.id), [['tip.created', 'tip.voided'], ['below_minimum'], [addedLater]]);
  assert.deepEqual(await lanes(later.id), [[`no_program ${closedAt}`], ['below_minimum'], [addedLater]]);
  assert.deepEqual(await lanes(held.id), [['not_shown'], ['not_shown'], [addedLater]]);

  for (const tip of [before.id, sent.id, later.id]) {
    const text = JSON.stringify(await readTrace(app, pair, tip));
    for (const secret of ['Bot', 'program', one?.id ?? '']) assert.ok(!text.includes(secret), secret);
  }
  const operator = await runtime.traces.ofTip(creatorId, later.id, 'operator');
  assert.ok(operator.receivers.some(({ name }) => name === 'Bot one'));
  const visitor = await signedInVisitor(app, creatorId);
  const page = await visitor.get(`/dashboard/tips/${later.id}`);
  for (const text of ['Bot one', 'No program was connected with this stream key. Last connected:'])
    assert.ok(page.body.includes(text), text);
});

test('of each key the sends of the newest events are kept, and none of one that was revoked', async (t) => {
  const { runtime } = await listen(t);
  const { creatorId } = await makePair(runtime);
  await runtime.streamKeys.make(creatorId, { label: '' });
  const [key] = await runtime.streamKeys.list(creatorId);
  const row = { creator_id: creatorId, key_id: key?.id ?? '', sent_at: 1 };
  const count = async () => (await runtime.db.all('SELECT sequence FROM stream_key_sends')).length;
  const all = Array.from({ length: keptEvents + 50 }, (_, n) => ({ ...row, sequence: n + 1 }));
  await runtime.db.write(writes.saveSends, all.slice(0, keptEvents));
  await runtime.db.write(writes.saveSends, all.slice(keptEvents - 10));
  assert.equal(await count(), keptEvents);
  await runtime.streamKeys.revoke(creatorId, key?.id ?? '');
  assert.equal(await count(), 0);
  await runtime.db.write(writes.saveSends, all.slice(-1));
  assert.equal(await count(), 0);
});

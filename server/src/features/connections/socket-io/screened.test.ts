import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../../../../sdk/test/until.ts';
import { makePair } from '../../../../test/factories.ts';
import { makeKey, openProgram } from '../../../../test/programs.ts';
import { type LiveApp, listen } from '../../../../test/sockets.ts';
import { createTips, type ScreenTip } from '../../tips/index.ts';

type Verdict = Omit<Awaited<ReturnType<ScreenTip>>, 'version'>;

/** Records a tip of a creator whose screening decides this. */
async function record({ runtime }: LiveApp, creatorId: string, verdict: Verdict, amount = 50) {
  const tips = createTips({ ...runtime, screen: async () => ({ ...verdict, version: 0 }) });
  const words = { name: 'SOMCHAI', displayName: 'Rude name', message: 'Rude words' };
  return (await tips.record({ creatorId, app: null, amount, ...words })).tip.id;
}

const shown = { name: 'R***', message: null };
const queued = { status: 'queued', shown: null } as const;
const none = { _id: null, name: null, message: null };
const owner = { clientId: null, reason: 'Rude reason' };

test('security 46: a program gets only what may be shown, and a held tip when it is approved', async (t) => {
  const app = await listen(t);
  const { overlays, tips, alerts } = app.runtime;
  const { creatorId } = await makePair(app.runtime);
  const program = await openProgram(t, app, await makeKey(app, creatorId));
  const hidden = await record(app, creatorId, { status: 'queued', shown });
  const approved = await record(app, creatorId, { status: 'held', shown });
  const rejected = await record(app, creatorId, { status: 'held', shown });
  const blocked = await record(app, creatorId, { status: 'blocked', shown });
  const held = await record(app, creatorId, { status: 'held', shown });
  await overlays.approve(creatorId, approved);
  await overlays.reject(creatorId, rejected);
  // Told of none of these but the first two, a program has nothing to delete of the others.
  for (const id of [hidden, approved, rejected, blocked, held]) await tips.void(creatorId, id, owner);
  await alerts.send({ creatorId, amount: 1 });
  await until('the test that follows has come', () => program.messages.length === 5);
  const received = program.messages.slice(0, 4).map(({ type, message }) => {
    const { id, _id, name, message: words } = 'id' in message ? { ...none, ...message } : message[0];
    return [type, id, _id, name, words];
  });
  assert.deepEqual(received, [
    ['donation', 1, hidden, 'R***', ''],
    ['donation', 6, approved, 'R***', ''],
    ['donationDelete', 1, null, null, null],
    ['donationDelete', 6, null, null, null],
  ]);
  assert.ok(!JSON.stringify(program.messages).includes('ude'));
});

test('a key with a smallest amount hears of nothing smaller, of tests always', async (t) => {
  const app = await listen(t);
  const { creatorId } = await makePair(app.runtime);
  const program = await openProgram(t, app, await makeKey(app, creatorId, 2000));
  const small = await record(app, creatorId, queued, 19.99);
  const large = await record(app, creatorId, queued, 20);
  for (const id of [small, large]) await app.runtime.tips.void(creatorId, id, owner);
  await app.runtime.alerts.send({ creatorId, amount: 1 });
  await until('the test has come', () => program.messages.length === 3);
  const [donation, deletion, alert] = program.messages;
  assert.deepEqual([donation?.type, deletion?.type, alert?.type], ['donation', 'donationDelete', 'donation']);
  assert.deepEqual(program.ids().slice(0, 1), [2]);
  assert.deepEqual(deletion?.message, { id: 2 });
});

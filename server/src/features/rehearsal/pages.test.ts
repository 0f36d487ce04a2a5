import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../../../test/build-app.ts';
import { makeCreator } from '../../../test/factories.ts';
import { hour, minute, tipsAt } from '../../../test/rehearsals.ts';
import { createVisitor, signedInVisitor } from '../../../test/visitor.ts';

const home = '/dashboard/live';
const evening = Date.parse('2026-11-14T12:00:00Z'); // 19:00 in Bangkok

test('live control offers evenings, starts one, shows how far it is, and stops it', async (t) => {
  const app = await buildApp(t);
  const { runtime, clock } = app;
  const { creatorId } = await makeCreator(runtime);
  await tipsAt(app, creatorId, [evening, evening + 5 * minute, evening + hour]);
  clock.set(evening + 20 * hour);
  const visitor = await signedInVisitor(app, creatorId);
  const body = async () => (await visitor.get(home)).body;
  assert.match(await body(), /14.Nov.2026, 19:00 to 20:00: 3 tips/);
  assert.match((await visitor.get(home, { 'accept-language': 'th' })).body, /19:00 ถึง 20:00: 3 ทิป/);
  const chosen = `${evening}-${evening + hour}`;

  const cases: [fields: Record<string, string>, said: RegExp][] = [
    [{ evening: chosen, pace: '0' }, /whole number from 1 to 100/],
    [{ evening: chosen, pace: '2.5' }, /whole number from 1 to 100/],
    [{ evening: 'other', from: '2026-11-14T19:00', to: 'x', pace: '1' }, /Type a date and a time/],
    [{ evening: 'other', from: '2026-11-14T00:00', to: '2026-11-14T23:00', pace: '1' }, /at most 12 hours/],
    [{ evening: 'other', from: '2026-11-14T08:00', to: '2026-11-14T09:00', pace: '1' }, /no alert in this span/],
  ];
  for (const [fields, said] of cases) {
    const answer = await visitor.post(`${home}/rehearsal`, fields);
    assert.equal(answer.statusCode, 422);
    assert.match(answer.body, said);
  }
  assert.equal(await runtime.rehearsals.current(creatorId), undefined);

  const fields = { evening: 'other', from: '2026-11-14T19:00', to: '2026-11-14T19:30', pace: '20' };
  assert.equal((await visitor.post(`${home}/rehearsal`, fields)).headers.location, home);
  const row = await runtime.rehearsals.current(creatorId);
  assert.deepEqual(
    [row?.from_at, row?.to_at, row?.pace, row?.total, row?.status],
    [evening, evening + 30 * minute, 20, 2, 'waiting'],
  );
  assert.match(await body(), /<progress[\s\S]*rehearsal\/stop/);
  const second = await visitor.post(`${home}/rehearsal`, { evening: chosen, pace: '1' });
  assert.match(second.body, /A rehearsal is playing/);

  const headers = { 'x-live-control': '1' };
  assert.equal((await visitor.post(`${home}/rehearsal/stop`, {}, headers)).statusCode, 204);
  assert.equal((await runtime.rehearsals.current(creatorId))?.status, 'stopped');
  assert.match(await body(), /stopped after 0 of 2/);
  assert.doesNotMatch(await body(), /<progress/);
  clock.advance(11 * minute);
  assert.doesNotMatch(await body(), /stopped after/);
});

test('a moderator neither sees nor starts nor stops rehearsals, and nobody does so for another', async (t) => {
  const app = await buildApp(t);
  const { runtime, clock } = app;
  const { creatorId } = await makeCreator(runtime);
  const other = await makeCreator(runtime);
  await tipsAt(app, creatorId, [evening]);
  clock.set(evening + 20 * hour);
  await runtime.rehearsals.start(creatorId, { from: evening, to: evening }, 1);
  const key = await runtime.moderators.add(creatorId, 'Nok');
  const moderator = createVisitor(app);
  const page = (await moderator.get(`/moderate/${key}`)).body;
  assert.doesNotMatch(page, /rehearsal\/stop|id="rehearsal"/);
  for (const path of ['rehearsal', 'rehearsal/stop'])
    assert.equal((await moderator.post(`/moderate/${key}/${path}`)).statusCode, 404);
  const stranger = await signedInVisitor(app, other.creatorId);
  await stranger.post(`${home}/rehearsal/stop`);
  assert.equal((await runtime.rehearsals.current(creatorId))?.status, 'waiting');
});

test('in the portal a developer rehearses with a sandbox creator of their own', async (t) => {
  const app = await buildApp(t);
  const { runtime, clock } = app;
  const [developer, other] = [await makeCreator(runtime), await makeCreator(runtime)];
  const { id } = await runtime.sandbox.create(developer.creatorId, 'Sandbox One');
  const path = `/developers/sandbox/${id}/rehearsal`;
  await tipsAt(app, id, [evening, evening + hour]);
  clock.set(evening + 20 * hour);
  const visitor = await signedInVisitor(app, developer.creatorId);
  assert.match((await visitor.get(`/developers/sandbox/${id}`)).body, new RegExp(`href="${path}"`));
  const chosen = `${evening}-${evening + hour}`;
  assert.match((await visitor.get(path)).body, new RegExp(`value="${chosen}"`));
  const wrong = await visitor.post(path, { evening: chosen, pace: '101' });
  assert.equal(wrong.statusCode, 422);
  assert.match(wrong.body, /whole number/);
  assert.equal((await visitor.post(path, { evening: chosen, pace: '100' })).headers.location, path);
  const playing = await visitor.get(path);
  assert.match(playing.body, /<progress/);
  assert.equal(playing.headers.refresh, '2');

  const stranger = await signedInVisitor(app, other.creatorId);
  for (const answer of [
    await stranger.get(path),
    await stranger.post(path, { evening: chosen, pace: '1' }),
    await stranger.post(`${path}/stop`),
  ])
    assert.equal(answer.statusCode, 404);
  assert.equal((await runtime.rehearsals.current(id))?.status, 'waiting');
  await visitor.post(`${path}/stop`);
  assert.match((await visitor.get(path)).body, /was stopped after 0 of 2/);
});

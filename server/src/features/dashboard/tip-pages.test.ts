import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { buildApp } from '../../../test/build-app.ts';
import { makeCreator, makePair } from '../../../test/factories.ts';
import { createVisitor, signedInVisitor } from '../../../test/visitor.ts';

async function open(t: TestContext) {
  const app = await buildApp(t);
  const creator = await makeCreator(app.runtime);
  const visitor = await signedInVisitor(app, creator.creatorId);
  const types = async () => (await app.runtime.events.after(creator.creatorId, 0, 100)).map(({ type }) => type);
  const tip = async (by: { id: string; name: string } | 'creator' | null = null) => {
    const words = { name: 'SOMCHAI', displayName: '<i>สมชาย</i>', message: '<b>hello</b>' };
    return (await app.runtime.tips.record({ creatorId: creator.creatorId, app: by, amount: 150.5, ...words })).tip;
  };
  return { app, creator, visitor, types, tip };
}

test('a creator enters a tip by hand: once, however often the form is sent', async (t) => {
  const { app, creator, visitor, types } = await open(t);
  const form = await visitor.get('/dashboard/tips/new');
  const key = /name="key" value="([^"]+)"/.exec(form.body)?.[1] ?? '';
  const fields = { amount: '฿1,250.50', from: ' พี่แอน ', message: 'ขอบคุณ\r\nนะ ', key };
  const first = await visitor.post('/dashboard/tips/new', fields);
  const again = await visitor.post('/dashboard/tips/new', fields);
  assert.equal(first.statusCode, 303);
  assert.equal(again.headers.location, first.headers.location);
  const { tips } = app.runtime;
  const id = String(first.headers.location).split('/').at(-1) ?? '';
  const { created_at, ...tip } = await tips.byId(creator.creatorId, id);
  assert.deepEqual(tip, {
    id,
    status: 'recorded',
    amount: 1250.5,
    amount_minor: 125050,
    currency: 'THB',
    name: 'SUPPORTER',
    display_name: 'พี่แอน',
    message: 'ขอบคุณ\nนะ',
    source: { type: 'creator', client_id: null, app_name: null },
    alert: { status: 'queued', shown_at: null, name: 'พี่แอน', message: 'ขอบคุณ\nนะ' },
    voided_at: null,
    void_reason: null,
  });
  assert.deepEqual(await types(), ['tip.created']);
  assert.equal((await tips.stats(creator.creatorId)).all_time.total_minor, 125050);

  const changed = await visitor.post('/dashboard/tips/new', { ...fields, amount: '7' });
  assert.equal(changed.statusCode, 422);
  assert.match(changed.body, /that tip is recorded/);
  assert.deepEqual(await types(), ['tip.created'], 'a form that was sent before records nothing by itself');
});

test('names by hand: what the API allows stays, and others become a name and a display name', async (t) => {
  const { app, creator, visitor } = await open(t);
  for (const [typed, name, displayName] of [
    ['SOMCHAI_9', 'SOMCHAI_9', null],
    ['Somchai', 'SOMCHAI', 'Somchai'],
    ['Émile!', 'EMILE', 'Émile!'],
    ['ก', 'SUPPORTER', 'ก'],
    ['A', 'SUPPORTER', 'A'],
  ] as const) {
    app.clock.advance(60_000);
    const { headers } = await visitor.post('/dashboard/tips/new', { amount: '1', from: typed });
    const tip = await app.runtime.tips.byId(creator.creatorId, String(headers.location).split('/').at(-1) ?? '');
    assert.deepEqual([tip.name, tip.display_name], [name, displayName], typed);
  }
});

test('what is wrong by hand is told beside its field, in the reader’s language, and nothing is recorded', async (t) => {
  const { app, visitor, types } = await open(t);
  for (const [fields, error] of [
    [{ amount: '0', from: 'NOK' }, 'amount'],
    [{ amount: '', from: 'NOK' }, 'amount'],
    [{ amount: '1.005', from: 'NOK' }, 'amount'],
    [{ amount: '100000.01', from: 'NOK' }, 'amount'],
    [{ amount: '5', from: '' }, 'from'],
    [{ amount: '5', from: ' \u200b ' }, 'from'],
    [{ amount: '5', from: 'x'.repeat(41) }, 'from'],
    [{ amount: '5', from: 'evil\u202etxt' }, 'from'],
    [{ amount: '5', from: 'NOK', message: 'x'.repeat(256) }, 'message'],
  ] as const) {
    const answer = await visitor.post('/dashboard/tips/new', { message: '', ...fields });
    assert.equal(answer.statusCode, 422, JSON.stringify(fields));
    assert.match(answer.body, new RegExp(`id="field-${error}-error"`), JSON.stringify(fields));
  }
  const thai = await visitor.post('/dashboard/tips/new', { amount: '0', from: 'NOK' }, { 'accept-language': 'th' });
  assert.match(thai.body, /ใส่จำนวนเงินมากกว่า 0 แต่ไม่เกิน ฿100,000\.00/);
  assert.deepEqual(await types(), []);
  const stranger = createVisitor(app);
  assert.equal((await stranger.get('/dashboard/tips/new')).statusCode, 303);
  assert.equal((await stranger.post('/dashboard/tips/new', { amount: '5', from: 'NOK' })).statusCode, 403);
});

test('a tip’s page tells what happened to it, of this creator alone, as text', async (t) => {
  const { app, creator, visitor, tip } = await open(t);
  const { clientId } = await makePair(app.runtime, { creator });
  const shown = await tip({ id: clientId, name: '<u>Goal Bot</u>' });
  await app.runtime.overlays.acknowledge(creator.creatorId, '00000000-0000-4000-8000-000000000001', [
    { sequence: 1, outcome: 'shown' },
  ]);
  const skipped = await tip();
  await app.runtime.overlays.skip(creator.creatorId, skipped.id);
  const first = await visitor.get(`/dashboard/tips/${shown.id}`);
  assert.equal(first.statusCode, 200);
  for (const text of ['฿150.50', 'Shown on the overlay', 'Event 1 sent', '&#60;b&#62;hello', '&#60;u&#62;Goal Bot'])
    assert.ok(first.body.includes(text), text);
  assert.doesNotMatch(first.body, /<b>hello|<i>สม|<u>Goal/);
  const second = await visitor.get(`/dashboard/tips/${skipped.id}`);
  assert.match(second.body, /The alert was not shown[\s\S]*Not shown on the overlay[\s\S]*The creator skipped it/);
  const other = await signedInVisitor(app, (await makeCreator(app.runtime)).creatorId);
  for (const [who, id] of [
    [other, shown.id],
    [visitor, 'tip_unknown'],
  ] as const)
    assert.equal((await who.get(`/dashboard/tips/${id}`)).statusCode, 404);
  const list = await visitor.get('/dashboard');
  assert.match(list.body, new RegExp(`href="/dashboard/tips/${shown.id}"`));
});

test('the creator voids any tip, is asked first, and can neither repeat nor replay it', async (t) => {
  const { app, creator, visitor, types, tip } = await open(t);
  const { id } = await tip('creator');
  const page = await visitor.get(`/dashboard/tips/${id}`);
  assert.match(page.body, /<details class="confirm">[\s\S]*cannot be undone[\s\S]*name="reason"/);
  const long = await visitor.post(`/dashboard/tips/${id}/void`, { reason: 'x'.repeat(256) });
  assert.equal(long.statusCode, 422);
  assert.match(long.body, /<details class="confirm" open>[\s\S]*at most 255/);
  assert.deepEqual(await types(), ['tip.created']);
  const done = await visitor.post(`/dashboard/tips/${id}/void`, { reason: '<b>typed wrong</b>' });
  assert.equal(done.headers.location, `/dashboard/tips/${id}`);
  const after = await visitor.get(`/dashboard/tips/${id}`);
  assert.match(after.body, /The tip is voided[\s\S]*Reason: &#60;b&#62;typed wrong/);
  assert.doesNotMatch(after.body, /Void this tip|Play again/);
  await visitor.post(`/dashboard/tips/${id}/void`, { reason: 'again' });
  assert.equal((await visitor.post(`/dashboard/tips/${id}/replay`)).statusCode, 404);
  assert.deepEqual(await types(), ['tip.created', 'alert.skipped', 'tip.voided']);
  assert.equal((await app.runtime.tips.byId(creator.creatorId, id)).void_reason, '<b>typed wrong</b>');
  for (const path of ['/dashboard', '/dashboard/tips', '/dashboard/overlay'])
    assert.match((await visitor.get(path)).body, /class="badge warn">Voided/, path);
  const other = await signedInVisitor(app, (await makeCreator(app.runtime)).creatorId);
  const mine = await tip();
  assert.equal((await other.post(`/dashboard/tips/${mine.id}/void`)).statusCode, 404);
});

test('a tip is played again from its page', async (t) => {
  const { visitor, types, tip } = await open(t);
  const { id } = await tip();
  assert.equal((await visitor.post(`/dashboard/tips/${id}/replay`)).headers.location, `/dashboard/tips/${id}`);
  assert.deepEqual(await types(), ['tip.created', 'alert.replayed']);
});

test('a held tip says so, shows what the public would see, and leads to live control; a blocked one says why', async (t) => {
  const { app, creator, visitor, tip } = await open(t);
  const { creatorId } = creator;
  const { screening, overlays } = app.runtime;
  const list = { id: 'l', title: 'Words', words: ['hello'], except: [], match: 'words', action: 'mask' } as const;
  await screening.change(creatorId, (rules) => ({
    ...rules,
    lists: [list],
    hold: { ...rules.hold, everything: true },
  }));
  const { id } = await tip();
  const held = (await visitor.get(`/dashboard/tips/${id}`)).body;
  assert.match(held, /Message in public[\s\S]*\*{5}[\s\S]*Held for approval/);
  assert.match(held, /href="\/dashboard\/live">Decide in live control/);
  await overlays.approve(creatorId, id);
  const approved = (await visitor.get(`/dashboard/tips/${id}`)).body;
  assert.match(approved, /Held for approval[\s\S]*Approved/);
  const shown = [{ sequence: 2, outcome: 'shown' as const, ms: 5000 }];
  await overlays.acknowledge(creatorId, '00000000-0000-4000-8000-000000000001', shown);
  const after = (await visitor.get(`/dashboard/tips/${id}`)).body;
  assert.match(after, />Approved<[\s\S]*Shown on the overlay/, 'also where both came in the same instant');
  assert.doesNotMatch(approved, /Decide in live control/);
  await screening.change(creatorId, (rules) => ({ ...rules, lists: [], blockedNames: ['<i>สมชาย</i>'] }));
  const blocked = (await visitor.get(`/dashboard/tips/${(await tip()).id}`)).body;
  assert.match(blocked, /Not shown on the overlay[\s\S]*The supporter is blocked/);
  assert.doesNotMatch(blocked, /Held for approval/);
});

test('an alert that was not shown because its words were erased says so, and one that was skipped before says that', async (t) => {
  const { app, creator, visitor, tip } = await open(t);
  const { creatorId } = creator;
  const { erasure, overlays } = app.runtime;
  const pair = await makePair(app.runtime, { creator });
  const erased = await tip();
  await erasure.one(creatorId, erased.id);
  const skipped = await tip();
  await overlays.skip(creatorId, skipped.id);
  app.clock.advance(1000);
  await erasure.one(creatorId, skipped.id);
  const page = async (id: string, language: string) =>
    (await visitor.get(`/dashboard/tips/${id}`, { 'accept-language': language })).body;
  const [byErasing, byCreator] = [/Its name and message were erased first\./, /The creator skipped it\./];
  assert.match(await page(erased.id, 'en'), byErasing);
  assert.doesNotMatch(await page(erased.id, 'en'), byCreator);
  assert.match(await page(erased.id, 'th'), /ชื่อและข้อความถูกลบก่อนแสดง/);
  assert.match(await page(skipped.id, 'en'), byCreator);
  assert.doesNotMatch(await page(skipped.id, 'en'), byErasing);
  const { steps } = (await app.http.inject({ url: `/v1/tips/${erased.id}/trace`, headers: pair.headers })).json();
  assert.deepEqual(
    steps.find(({ kind }: { kind: string }) => kind === 'overlay'),
    {
      at: '2026-11-15T04:00:00.000Z',
      kind: 'overlay',
      outcome: 'skipped',
      detail: { reason: 'by_creator', overlay_open: false },
    },
  );
});

test('a tip that waits for something leads to where the creator can do it', async (t) => {
  const { app, creator, visitor, tip } = await open(t);
  const { overlays } = app.runtime;
  const { id } = await tip();
  const page = async () => (await visitor.get(`/dashboard/tips/${id}`)).body;
  assert.match(await page(), /No overlay is open/);
  assert.match(await page(), /href="\/dashboard\/overlay">Open the overlay/);
  await overlays.skip(creator.creatorId, id);
  assert.doesNotMatch(await page(), /Open the overlay/);
});

test('what was decided about a tip is told however much happened before it was decided', async (t) => {
  const { app, creator, visitor, tip } = await open(t);
  const { creatorId } = creator;
  const { screening, overlays, alerts } = app.runtime;
  const hold = (everything: boolean) =>
    screening.change(creatorId, (rules) => ({ ...rules, hold: { ...rules.hold, everything } }));
  await hold(true);
  const [approved, rejected] = [await tip(), await tip()];
  await hold(false);
  for (let i = 0; i < 210; i++) await alerts.send({ creatorId });
  app.clock.advance(1000);
  await overlays.approve(creatorId, approved.id);
  await overlays.reject(creatorId, rejected.id);
  const page = async (id: string) => (await visitor.get(`/dashboard/tips/${id}`)).body;
  assert.match(await page(approved.id), /Held for approval[\s\S]*Approved/);
  assert.match(
    await page(rejected.id),
    /Held for approval[\s\S]*Not shown on the overlay[\s\S]*The creator or a moderator rejected it/,
  );
});

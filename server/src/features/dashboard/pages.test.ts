import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../../../test/build-app.ts';
import { makeCreator } from '../../../test/factories.ts';
import { createVisitor, signedInVisitor } from '../../../test/visitor.ts';

test('the start page welcomes strangers and leads who is signed in to the dashboard', async (t) => {
  const app = await buildApp(t);
  const page = await createVisitor(app).get('/');
  assert.equal(page.statusCode, 200);
  for (const link of ['/login', '/signup', '/docs']) assert.match(page.body, new RegExp(`href="${link}"`));
  const { creatorId } = await makeCreator(app.runtime);
  const home = await (await signedInVisitor(app, creatorId)).get('/');
  assert.equal(home.headers.location, '/dashboard');
  const closed = await buildApp(t, { SIGNUP: 'closed' });
  assert.doesNotMatch((await createVisitor(closed).get('/')).body, /href="\/signup"/);
});

test('the dashboard shows this creator’s numbers and tips, as text, and asks strangers to sign in', async (t) => {
  const app = await buildApp(t);
  const [mali, nok] = [await makeCreator(app.runtime), await makeCreator(app.runtime)];
  const tip = {
    app: null,
    amount: 1234.5,
    name: 'SOMCHAI',
    displayName: '<b>สมชาย</b>',
    message: '<script>1</script>',
  };
  await app.runtime.tips.record({ creatorId: mali.creatorId, ...tip });
  await app.runtime.tips.record({ creatorId: nok.creatorId, ...tip, amount: 77, message: 'not for mali' });
  const visitor = await signedInVisitor(app, mali.creatorId);
  const page = await visitor.get('/dashboard');
  assert.match(page.body, /฿1,234\.50/);
  assert.match(page.body, /&#60;script&#62;1/);
  assert.doesNotMatch(page.body, /<b>สมชาย|<script>1|77\.00|not for mali/);
  assert.match(
    (await signedInVisitor(app, (await makeCreator(app.runtime)).creatorId).then((v) => v.get('/dashboard'))).body,
    /No tips yet/,
  );
  assert.equal((await createVisitor(app).get('/dashboard')).headers.location, '/login?return_to=%2Fdashboard');
});

test('the test-alert button sends one test alert and no tip, thirty times a minute at most', async (t) => {
  const app = await buildApp(t);
  const { creatorId } = await makeCreator(app.runtime);
  const visitor = await signedInVisitor(app, creatorId);
  assert.equal((await visitor.post('/dashboard/test-alert')).headers.location, '/dashboard');
  assert.match((await visitor.get('/dashboard')).body, /No overlay is open/);
  assert.doesNotMatch((await visitor.get('/dashboard')).body, /No overlay is open|on its way/, 'said once');
  for (let i = 0; i < 31; i++) await visitor.post('/dashboard/test-alert');
  assert.match((await visitor.get('/dashboard')).body, /too fast/);
  const events = await app.runtime.db.all<{ type: string }>('SELECT type FROM events WHERE creator_id = $1', [
    creatorId,
  ]);
  assert.deepEqual([events.length, events[0]?.type], [30, 'alert.test']);
  assert.equal((await app.runtime.tips.stats(creatorId)).all_time.count, 0);
});

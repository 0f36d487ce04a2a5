import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../../../test/build-app.ts';
import { makeCreator, makePair } from '../../../test/factories.ts';
import { execute } from '../../../test/sql.ts';
import { signedInVisitor } from '../../../test/visitor.ts';

test('the first steps tick themselves off, one by one, and then the list is gone', async (t) => {
  const app = await buildApp(t);
  const { runtime, http } = app;
  const { creatorId } = await makeCreator(runtime);
  const visitor = await signedInVisitor(app, creatorId);
  const open = async () => {
    const { body } = await visitor.get('/dashboard');
    return [...body.matchAll(/<li class="(open|done)"><a href="([^"]+)"/g)]
      .filter(([, state]) => state === 'open')
      .map(([, , place]) => place);
  };
  assert.deepEqual(await open(), [
    '/dashboard/overlay/looks',
    '/docs/overlay',
    '/dashboard/overlay',
    '/dashboard/profile',
    '/dashboard/tips/new',
    '/account#recovery',
  ]);
  await visitor.post('/dashboard/overlay/looks/ready/market');
  assert.ok(!(await open()).includes('/dashboard/overlay/looks'));
  const instance = '01234567-89ab-cdef-0123-456789abcdef';
  const overlay = `/overlay/${await runtime.overlays.key(creatorId)}`;
  await http.inject({ method: 'POST', url: `${overlay}/voices`, payload: { instance, languages: [] } });
  assert.deepEqual((await open()).includes('/docs/overlay'), false);
  await visitor.post('/dashboard/test-alert');
  assert.ok((await open()).includes('/dashboard/overlay'), 'sent, but not seen yet');
  await http.inject({
    method: 'POST',
    url: `${overlay}/ack`,
    payload: { instance, acks: [{ sequence: 1, outcome: 'shown' }] },
  });
  assert.ok(!(await open()).includes('/dashboard/overlay'));
  await visitor.post('/dashboard/profile', { display_name: 'Mali', page_public: 'on' });
  await makePair(runtime, { creator: { creatorId, username: 'x' } });
  assert.deepEqual(await open(), ['/account#recovery']);
  await runtime.recovery.renew(creatorId);
  assert.doesNotMatch((await visitor.get('/dashboard')).body, /First steps/);
});

test('a step that was seen done stays done, whatever goes away again', async (t) => {
  const app = await buildApp(t);
  const { runtime } = app;
  const { creatorId, clientId } = await makePair(runtime);
  const visitor = await signedInVisitor(app, creatorId);
  const done = async () =>
    [...(await visitor.get('/dashboard')).body.matchAll(/<li class="done"><a href="([^"]+)"/g)].map(
      ([, place]) => place,
    );
  await visitor.post('/dashboard/profile', { display_name: 'Mali', page_public: 'on' });
  await runtime.recovery.renew(creatorId);
  const before = ['/dashboard/profile', '/dashboard/tips/new', '/account#recovery'];
  assert.deepEqual(await done(), before);
  await visitor.post('/dashboard/profile', { display_name: 'Mali' });
  await runtime.grants.revoke(creatorId, clientId, 'creator');
  await execute(runtime.db, 'DELETE FROM recovery_codes');
  assert.deepEqual(await done(), before);
  const write = t.mock.method(runtime.db, 'write');
  await done();
  assert.equal(write.mock.callCount(), 0, 'a look that finds nothing new writes nothing');
});

test('a tip counts as well as an app, and the list can be hidden', async (t) => {
  const app = await buildApp(t);
  const { creatorId } = await makeCreator(app.runtime);
  const visitor = await signedInVisitor(app, creatorId);
  const fields = { amount: 5, name: 'SOMCHAI', displayName: null, message: null };
  const { tip } = await app.runtime.tips.record({ creatorId, app: null, ...fields });
  const done = /<li class="done"><a href="\/dashboard\/tips\/new"/;
  assert.match((await visitor.get('/dashboard')).body, done);
  await app.runtime.tips.void(creatorId, tip.id, { clientId: null, reason: null });
  assert.match((await visitor.get('/dashboard')).body, done, 'done is done');
  await visitor.post('/dashboard/steps/hide');
  assert.doesNotMatch((await visitor.get('/dashboard')).body, /First steps/);
});

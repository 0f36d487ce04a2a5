import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../../../../test/build-app.ts';
import { makeCreator } from '../../../../test/factories.ts';
import { createVisitor, signedInVisitor } from '../../../../test/visitor.ts';

test('forms are counted by account over all its sessions, and nobody else pays', async (t) => {
  const app = await buildApp(t);
  const { creatorId } = await makeCreator(app.runtime);
  const [phone, desktop] = [await signedInVisitor(app, creatorId), await signedInVisitor(app, creatorId)];
  const other = await signedInVisitor(app, (await makeCreator(app.runtime)).creatorId);
  const save = { display_name: 'Mali', bio: '' };
  for (let i = 0; i < 240; i++) {
    const { statusCode } = await (i % 2 ? phone : desktop).post('/dashboard/profile', save);
    assert.notEqual(statusCode, 429);
  }
  for (const visitor of [phone, desktop]) {
    const refused = await visitor.post('/dashboard/profile', save);
    assert.deepEqual([refused.statusCode, refused.headers['retry-after']], [429, '60']);
    assert.equal((await visitor.get('/dashboard/profile')).statusCode, 200);
  }
  assert.notEqual((await other.post('/dashboard/profile', save)).statusCode, 429);
  // Refused by another check, a form costs nothing.
  assert.equal((await other.post('/dashboard/profile', { ...save, csrf: 'x' })).statusCode, 403);
  app.clock.advance(60_000);
  assert.notEqual((await phone.post('/dashboard/profile', save)).statusCode, 429);
});

test('without a session forms are counted by address', async (t) => {
  const app = await buildApp(t);
  const stranger = createVisitor(app, { address: '192.0.2.9' });
  await stranger.get('/login');
  for (let i = 0; i < 600; i++) assert.equal((await stranger.post('/dashboard/profile')).statusCode, 303);
  assert.equal((await stranger.post('/dashboard/profile')).statusCode, 429);
  const elsewhere = createVisitor(app, { address: '192.0.2.10' });
  await elsewhere.get('/login');
  assert.equal((await elsewhere.post('/dashboard/profile')).statusCode, 303);
});

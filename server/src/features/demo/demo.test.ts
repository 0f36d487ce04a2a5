import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../../../test/build-app.ts';
import { makeCreator, makePair } from '../../../test/factories.ts';
import { creatorTables } from '../../platform/db/tables.ts';
import type { Runtime } from '../../runtime.ts';
import { createRowDeletion } from '../leaving/index.ts';
import { createDemo } from './index.ts';

const demoOf = (runtime: Runtime, parts: Partial<Parameters<typeof createDemo>[0]>) =>
  createDemo({ ...runtime, rowDeletion: createRowDeletion(runtime), tipsAt: () => runtime.tips, ...parts });

test('an empty database is filled once, and the demo app can call the API', async (t) => {
  const { runtime, http } = await buildApp(t);
  const { demo } = runtime;
  assert.equal(await demo.exists(), false);
  await demo.ensure();
  const world = await demo.world();
  assert.ok(world);
  await demo.ensure();
  assert.deepEqual(await demo.world(), world);
  const headers = { authorization: `Bearer ${await demo.accessToken(world)}` };
  const { data } = (await http.inject({ url: '/v1/tips', headers })).json();
  assert.equal(data.length, 50);
  assert.ok(data.every(({ alert }: { alert: { status: string } }) => alert.status === 'shown'));
  const { current_month: month, all_time: all } = await runtime.tips.stats(world.creatorId);
  assert.ok(all.count > 60 && month.count <= all.count);
  assert.ok((await runtime.tips.days(world.creatorId, 30)).filter(({ count }) => count > 0).length >= 29);
  assert.equal((await http.inject({ url: '/@demo', headers: { accept: 'text/html' } })).statusCode, 200);
  const [goal] = await runtime.goals.open(world.creatorId);
  assert.equal(goal?.raised_minor, all.total_minor);
  await runtime.grants.revoke(world.creatorId, world.clientId, 'creator');
  assert.equal(await demo.accessToken(world), undefined);
});

test('a demo that a process left unfinished is made anew at the next start', async (t) => {
  const { runtime } = await buildApp(t);
  const { db, demo, goals } = runtime;
  const stopped = demoOf(runtime, {
    goals: { ...goals, add: () => Promise.reject(new Error('The process is killed')) },
  });
  await assert.rejects(stopped.ensure(), /is killed/);
  assert.equal(await demo.exists(), false);
  await demo.ensure();
  const world = await demo.world();
  assert.ok(world);
  assert.deepEqual(await db.all('SELECT id FROM creators'), [{ id: world.creatorId }]);
  assert.ok(await demo.accessToken(world));
  assert.equal((await runtime.goals.open(world.creatorId)).length, 1);
});

test('a demo whose removal was broken off is made anew at the next start', async (t) => {
  const { runtime } = await buildApp(t);
  const { db, demo } = runtime;
  await demo.ensure();
  const before = await demo.world();
  await assert.rejects(
    demoOf(runtime, {
      db: {
        ...db,
        write: (write, ...args) =>
          write.name === 'removeDemo' ? Promise.reject(new Error('The process is killed')) : db.write(write, ...args),
      },
    }).remove(),
    /is killed/,
  );
  await demo.ensure();
  const world = await demo.world();
  assert.ok(world && world.creatorId !== before?.creatorId);
  assert.deepEqual(await db.all('SELECT id FROM creators'), [{ id: world.creatorId }]);
  assert.ok((await runtime.tips.stats(world.creatorId)).all_time.count > 0);
});

test('a database in use is not filled', async (t) => {
  const { runtime } = await buildApp(t);
  await makeCreator(runtime);
  await runtime.demo.ensure();
  assert.equal(await runtime.demo.exists(), false);
});

test('removing the demo leaves nothing of it, and everything of others', async (t) => {
  const { runtime, http } = await buildApp(t);
  const { db, demo } = runtime;
  await demo.ensure();
  const world = await demo.world();
  assert.ok(world);
  const { creatorId, clientId } = world;
  await runtime.webhooks.add(clientId, { url: 'https://app.example/hook', types: null, description: null });
  const other = await makePair(runtime);
  await makePair(runtime, { creator: other, app: world });
  const before: unknown[] = [];
  const watched: typeof db = {
    ...db,
    async write(write, ...args) {
      if (write.name === 'removeDemo')
        before.push(await db.all('SELECT id FROM tips WHERE creator_id = $1', [creatorId]));
      return db.write(write, ...args);
    },
  };
  assert.ok((await demoOf(runtime, { db: watched }).remove()) > 0);
  assert.deepEqual(before, [[]], 'the last write finds what was deleted in short ones');
  for (const { table, column } of creatorTables) {
    const left = await db.all(`SELECT 1 FROM ${table} WHERE ${column} = $1`, [creatorId]);
    assert.deepEqual(left, [], table);
  }
  for (const table of ['grants', 'webhook_endpoints'])
    assert.deepEqual(await db.all(`SELECT 1 FROM ${table} WHERE client_id = $1`, [clientId]), [], table);
  assert.equal(await demo.exists(), false);
  assert.equal(await demo.remove(), 0);
  assert.equal((await http.inject({ url: '/v1/me', headers: other.headers })).statusCode, 200);
});

test('whoever has connected the demo app finds in the audit log that its grant ended', async (t) => {
  const { runtime } = await buildApp(t);
  const { audit, demo } = runtime;
  await demo.ensure();
  const world = await demo.world();
  assert.ok(world);
  const { creatorId } = await makePair(runtime, { app: world });
  await demo.remove();
  const rows = await audit.list({ action: 'grant.ended' }, { limit: 10 });
  assert.deepEqual(
    rows.map(({ creator_id, client_id, details }) => ({ creator_id, client_id, details })),
    [{ creator_id: creatorId, client_id: world.clientId, details: { reason: 'app_deleted' } }],
  );
  assert.deepEqual(await audit.list({ action: 'app.deleted' }, { limit: 10 }), []);
});

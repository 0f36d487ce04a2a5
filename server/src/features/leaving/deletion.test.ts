import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../../../sdk/test/until.ts';
import { buildApp, type TestApp } from '../../../test/build-app.ts';
import { runCommand } from '../../../test/cli-process.ts';
import { makeApp, makeCreator, makePair } from '../../../test/factories.ts';
import { makeManyTips } from '../../../test/many-tips.ts';
import { fillTables, ownedTables } from '../../../test/marked-rows.ts';
import { rowsWith } from '../../../test/rows-with.ts';
import { execute } from '../../../test/sql.ts';
import { storedBytes } from '../../../test/stored-bytes.ts';
import { type TablePolicy, tables } from '../../platform/db/tables.ts';

const day = 86_400_000;
const password = 'a long password';

/** Deletes an account whose time has come, as the server's job does. */
async function letPass(app: TestApp, ms: number): Promise<void> {
  app.clock.advance(ms);
  await app.runtime.leaving.tick();
}

test('security 53: of a deleted account no table keeps anything, and others keep everything', async (t) => {
  const app = await buildApp(t);
  const { db, leaving } = app.runtime;
  const [mine, other] = [await makeCreator(app.runtime), await makeCreator(app.runtime)];
  await fillTables(db, mine.creatorId, 'minemark');
  await fillTables(db, other.creatorId, 'othermark');
  const before = await rowsWith(app, 'othermark');
  const deleteAt = await leaving.ask(mine.creatorId);
  assert.equal(deleteAt, app.clock() + 7 * day);
  await letPass(app, 7 * day - 60_000);
  assert.ok((await rowsWith(app, 'minemark')).length > 100, 'it is all there until then');
  await letPass(app, 120_000);
  // The name of an app stays, because tips of others may name it.
  const kept = (await rowsWith(app, 'minemark')).filter(
    (place) => !/^apps\.(id|name)$|^audit\.(id|action|actor|client_id|request_id|os_user)$/.test(place),
  );
  assert.deepEqual(kept, []);
  for (const { table, owner } of ownedTables) {
    const { erased }: TablePolicy = tables[table as keyof typeof tables];
    const column = owner.creator;
    if (erased !== 'deleted' || column === undefined) continue;
    assert.deepEqual(await db.all(`SELECT ${column} FROM ${table} WHERE ${column} = $1`, [mine.creatorId]), [], table);
  }
  assert.deepEqual(await rowsWith(app, 'othermark'), before);
});

test('security 53: the files of the embedded store hold none of it either, nor does a table anywhere', async (t) => {
  const app = await buildApp(t, {}, { writingThread: true });
  const { accounts, leaving, tips, profiles, screening, goals, signIn } = app.runtime;
  const other = await makePair(app.runtime);
  const { id } = await accounts.add({ username: 'zaphodmark', password, displayName: 'Zaphodmark B' });
  await makeManyTips(app.runtime, other.creatorId, 300);
  for (let i = 0; i < 200; i++) {
    const words = { name: 'ZAPHODMARK', displayName: `Zaphodmark ${i}`, message: `zaphodmark says ${'x'.repeat(i)}` };
    await tips.record({ creatorId: id, app: { id: other.clientId, name: 'Bot' }, amount: 1 + i, ...words });
  }
  await signIn.begin(id, 'password', { address: '192.0.2.200', userAgent: 'zaphodmark browser' });
  await screening.change(id, (rules) => ({ ...rules, blockedNames: ['zaphodmark'] }));
  await goals.add(id, { title: 'zaphodmark chair', targetMinor: 100_000, startsAt: 0, endsAt: null });
  const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  await profiles.setAvatar(id, Buffer.from(png, 'base64'));
  const marks = /zaphodmark|192\.0\.2\.200/i;
  assert.match((await storedBytes(app)).toString('latin1'), marks);
  await leaving.ask(id, true);
  await letPass(app, 1000);
  await letPass(app, 60_000);
  await until('the files are clean', async () => {
    await app.runtime.db.truncateLog?.();
    return !marks.test((await storedBytes(app)).toString('latin1'));
  });
  assert.equal((await app.http.inject({ url: '/v1/me', headers: other.headers })).statusCode, 200);
});

test('apps hear that it is over, the apps of the account end, and its sandbox creators go first', async (t) => {
  const app = await buildApp(t);
  const { http, runtime } = app;
  const { accounts, grants, leaving, webhooks, sandbox, db } = runtime;
  const { id } = await accounts.add({ username: 'malee', password });
  const stranger = await makeApp(runtime, 'Stranger Bot');
  const mine = { creatorId: id, username: 'malee' };
  const pair = await makePair(runtime, { creator: mine, app: stranger });
  await webhooks.add(stranger.clientId, { url: 'https://hooks.example/', types: null, description: null });
  const own = await makeApp(runtime, 'Own Bot', id);
  const user = await makePair(runtime, { app: own });
  await webhooks.add(own.clientId, { url: 'https://malee.example/', types: null, description: 'of malee' });
  const trial = await sandbox.create(id, 'Trial');
  await leaving.ask(id);
  const refused = await http.inject({ url: '/v1/me', headers: pair.headers });
  assert.deepEqual([refused.statusCode, refused.json().error.code], [403, 'grant_unusable']);
  assert.equal(
    (await http.inject({ url: '/v1/me', headers: user.headers })).statusCode,
    200,
    'its apps go on till then',
  );
  await letPass(app, 8 * day);
  const [delivery] = await db.all<{ body: string }>(
    `SELECT body FROM webhook_deliveries WHERE event_type = 'grant.revoked' AND creator_id = ''`,
  );
  assert.deepEqual(JSON.parse(delivery?.body ?? '').data, { creator_id: id, reason: 'account_deleted' });
  assert.equal(await accounts.byId(trial.id), undefined);
  assert.deepEqual(await rowsWith(app, 'malee'), []);
  const [kept] = await db.all<{ name: string; owner_id: string | null; redirect_uris: string }>(
    'SELECT name, owner_id, redirect_uris FROM apps WHERE id = $1',
    [own.clientId],
  );
  assert.deepEqual({ ...kept }, { name: 'Own Bot', owner_id: null, redirect_uris: '[]' });
  assert.deepEqual(await grants.connections(user.creatorId), []);
});

test('a deletion that was interrupted anywhere goes on, and only once its lease has ended', async (t) => {
  const app = await buildApp(t);
  const { db, leaving, accounts } = app.runtime;
  const { creatorId } = await makeCreator(app.runtime);
  await makeManyTips(app.runtime, creatorId, 1000);
  await leaving.ask(creatorId, true);
  // Another process has begun, and was killed in the middle of the tips.
  await execute(db, 'UPDATE creators SET removed_at = $2 WHERE id = $1', [creatorId, app.clock()]);
  await execute(
    db,
    `INSERT INTO account_deletions (creator_id, begun_at, lease, lease_until) VALUES ($1, $2, 'another', CAST($2 AS BIGINT) + 15000)`,
    [creatorId, app.clock()],
  );
  await execute(db, 'DELETE FROM tips WHERE creator_id = $1 AND sequence < 500', [creatorId]);
  await letPass(app, 10_000);
  assert.ok(await accounts.byId(creatorId), 'another process may still be at it');
  assert.equal(await leaving.restore(creatorId, 'operator'), false, 'it has begun');
  await letPass(app, 10_000);
  assert.equal(await accounts.byId(creatorId), undefined);
  assert.deepEqual(await db.all('SELECT id FROM tips WHERE creator_id = $1', [creatorId]), []);
});

const takenNames = {
  prepare: () => ({ id: 'nam', sealed_key: Buffer.from('x'), mac: 'm', taken_until: 0 }),
  has: async () => false,
};

test('an account whose deletion fails keeps no other from being deleted', async (t) => {
  const app = await buildApp(t);
  const { accounts } = app.runtime;
  const [stuck, other] = [await makeCreator(app.runtime), await makeCreator(app.runtime)];
  const { createRowDeletion, createLeaving } = await import('./index.ts');
  const rowDeletion = createRowDeletion(app.runtime);
  let fails = true;
  const leaving = createLeaving({
    ...app.runtime,
    rowDeletion: {
      ...rowDeletion,
      async creator(creatorId, between) {
        if (fails && creatorId === stuck.creatorId) throw new Error('a row that cannot be deleted');
        return rowDeletion.creator(creatorId, between);
      },
    },
    takenNames,
    file: undefined,
  });
  for (const { creatorId } of [stuck, other]) {
    await leaving.ask(creatorId, true);
    app.clock.advance(1);
  }
  await assert.rejects(leaving.tick(), /a row that cannot be deleted/, 'the job is counted as failed');
  assert.equal(await accounts.byId(other.creatorId), undefined);
  assert.ok(await accounts.byId(stuck.creatorId));
  fails = false;
  await leaving.tick();
  assert.equal(await accounts.byId(stuck.creatorId), undefined);
});

test('the deletion of an account renews its lease while it removes sandbox creators', async (t) => {
  const { runtime } = await buildApp(t);
  const { db, sandbox } = runtime;
  const { creatorId } = await makeCreator(runtime);
  const { id } = await sandbox.create(creatorId, 'Sandbox One');
  await makeManyTips(runtime, id, 1_000);
  const { createRowDeletion, createLeaving } = await import('./index.ts');
  const left: number[] = [];
  const leaving = createLeaving({
    ...runtime,
    rowDeletion: createRowDeletion(runtime),
    sandbox: {
      ...sandbox,
      remove: (developerId, sandboxId, between) =>
        sandbox.remove(developerId, sandboxId, async (tookMs) => {
          left.push((await db.all('SELECT id FROM tips WHERE creator_id = $1', [id])).length);
          await between(tookMs);
        }),
    },
    takenNames,
    file: undefined,
  });
  await leaving.ask(creatorId, true);
  await leaving.tick();
  assert.ok(left.includes(200) && left.includes(800), String(left));
  assert.equal(await runtime.accounts.byId(creatorId), undefined);
});

test('a deleted name stays taken for 90 days, and nobody can read it', async (t) => {
  const app = await buildApp(t);
  const { accounts, leaving } = app.runtime;
  const { id } = await accounts.add({ username: 'malee_who_leaves', password });
  await leaving.deleteNow(id);
  const taken = { message: 'The username "malee_who_leaves" is taken.' };
  await assert.rejects(accounts.add({ username: 'malee_who_leaves', password }), taken);
  assert.deepEqual(await rowsWith(app, 'malee'), []);
  await accounts.add({ username: 'malee_who_stays', password });
  await letPass(app, 90 * day - 60_000);
  await assert.rejects(accounts.add({ username: 'malee_who_leaves', password }), taken);
  await letPass(app, 60_001);
  await accounts.add({ username: 'malee_who_leaves', password });
});

test('the operator deletes after seven days or at once, and is asked for the name again', async (t) => {
  const app = await buildApp(t);
  const { accounts } = app.runtime;
  const { id } = await accounts.add({ username: 'malee', password });
  const json = async (...args: string[]) => {
    const { code, out, err } = await runCommand(app.env, 'creator', ...args, '--json');
    return code === 0 ? JSON.parse(out) : JSON.parse(err).error.code;
  };
  assert.equal(await json('delete', 'malee'), 'not_confirmed');
  assert.equal((await json('delete', 'malee', '--yes')).deleted, false);
  assert.notEqual((await accounts.byId(id))?.delete_at, null);
  await json('restore', 'malee');
  const restored = await accounts.byId(id);
  assert.deepEqual([restored?.delete_at, restored?.suspended_at], [null, null]);
  assert.equal((await json('delete', 'malee', '--now', '--yes')).deleted, true);
  assert.equal(await accounts.byId(id), undefined);
  assert.equal(await json('show', 'malee'), 'creator_unknown');
});

test('the operator is told that a creator whose deletion has begun can be restored no more', async (t) => {
  const app = await buildApp(t);
  const { accounts, leaving, db } = app.runtime;
  const { id } = await accounts.add({ username: 'malee', password });
  await leaving.ask(id, true);
  await execute(db, 'UPDATE creators SET removed_at = $2 WHERE id = $1', [id, app.clock()]);
  for (const command of ['restore', 'suspend']) {
    const { code, err } = await runCommand(app.env, 'creator', command, 'malee', '--json');
    assert.deepEqual([code, JSON.parse(err).error.code], [1, 'creator_is_being_deleted']);
  }
});

test('an owner who restores the account while the operator deletes it at once keeps it, and the operator is told', async (t) => {
  const app = await buildApp(t);
  const { accounts, db, leaving } = app.runtime;
  const { id } = await accounts.add({ username: 'malee', password });
  const write = db.write.bind(db);
  let begun = 0;
  t.mock.method(db, 'write', async (...args: Parameters<typeof write>) => {
    if (args[0].name === 'beginDeletion') {
      assert.equal(++begun, 1, 'it is not tried again');
      assert.equal(await leaving.restore(id, 'owner'), true);
    }
    return write(...args);
  });
  await assert.rejects(leaving.deleteNow(id), { code: 'creator_restored', message: /owner.* has restored it/ });
  t.mock.restoreAll();
  const kept = await accounts.byId(id);
  assert.deepEqual([kept?.delete_at, kept?.removed_at, kept?.suspended_at], [null, null, null]);
});

/** Requests that were under way while an account was deleted: what they write comes late. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { until } from '../../../../sdk/test/until.ts';
import { buildApp, onNodes, type TestApp } from '../../../test/build-app.ts';
import { makeApp, makeCreator } from '../../../test/factories.ts';
import { connect, parties, refresh } from '../../../test/oauth.ts';
import { waitingSessions } from '../../../test/postgres.ts';
import { rowsWith } from '../../../test/rows-with.ts';
import { execute } from '../../../test/sql.ts';
import { OwnerGone } from '../../platform/db/database.ts';

const address = '192.0.2.77';
const userAgent = 'latemark browser';

/** As a request does, from an address. */
const asVisitor = <T>({ runtime }: TestApp, act: () => T): T =>
  runtime.origins.run(() => ({ actor: null, address, requestId: 'req_late', osUser: null }), act);

test('security 53: sign-ins that end while an account is deleted, or after that, bring nothing back', async (t) => {
  const app = await buildApp(t);
  const { db, clock, leaving, signIn, audit } = app.runtime;
  const [begun, gone] = [await makeCreator(app.runtime), await makeCreator(app.runtime)];
  await leaving.ask(begun.creatorId, true);
  await execute(db, 'UPDATE creators SET removed_at = $2 WHERE id = $1', [begun.creatorId, clock()]);
  await leaving.deleteNow(gone.creatorId);
  for (const { creatorId } of [begun, gone]) {
    asVisitor(app, () => signIn.refuse(creatorId, 'password'));
    await until('it is recorded', async () => {
      return (await audit.list({ creatorId, action: 'session.refused' }, { limit: 1 })).length === 1;
    });
    await asVisitor(app, () => signIn.begin(creatorId, 'password', { address, userAgent }));
  }
  assert.deepEqual(
    [...(await rowsWith(app, address)), ...(await rowsWith(app, 'latemark'))].filter((at) => at.startsWith('audit')),
    [],
  );
  await leaving.tick();
  app.clock.advance(20_000);
  await leaving.tick();
  assert.deepEqual([...(await rowsWith(app, address)), ...(await rowsWith(app, 'latemark'))], []);
});

test('security 53: what a late request had told the audit log is taken out with the rest', async (t) => {
  const app = await buildApp(t);
  const { db, leaving } = app.runtime;
  const { creatorId } = await makeCreator(app.runtime);
  await leaving.deleteNow(creatorId);
  // Of a transaction that had read the account before, and was recorded after.
  await execute(
    db,
    `INSERT INTO audit (id, at, action, actor, creator_id, address, details, last_at)
     VALUES ('aud_late', $2, 'session.started', $1, $1, $3, '{"user_agent":"latemark"}', $2)`,
    [creatorId, app.clock(), address],
  );
  app.clock.advance(20_000);
  await leaving.tick();
  assert.deepEqual([...(await rowsWith(app, address)), ...(await rowsWith(app, 'latemark'))], []);
});

test('security 53: a refresh that is under way while an account is deleted leaves no token', {
  skip: onNodes ? false : 'the embedded store runs one write at a time',
}, async (t) => {
  const app = await buildApp(t);
  const { db, leaving } = app.runtime;
  const { creator, client } = await parties(app);
  const { refresh_token } = await connect(app, creator, client);
  const other = new pg.Client({ connectionString: app.env.DATABASE_URL });
  other.on('error', () => {}); // its database is dropped after the test
  await other.connect();
  // A refresh stops after it has rotated its token, before it inserts the next one, and waits for as long as it takes.
  await other.query(`
    CREATE FUNCTION wait_for_the_test() RETURNS trigger LANGUAGE plpgsql SET lock_timeout = 0
      AS 'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END';
    CREATE TRIGGER waits BEFORE INSERT ON refresh_tokens FOR EACH ROW EXECUTE FUNCTION wait_for_the_test();
    SELECT pg_advisory_lock(1)`);
  const refreshed = refresh(app.http, client, refresh_token);
  await until('the refresh waits', async () => (await waitingSessions(other)).length === 1);
  const deleted = leaving.deleteNow(creator.creatorId);
  await until('the deletion waits for it', async () => (await waitingSessions(other)).length === 2);
  await other.query('SELECT pg_advisory_unlock(1)');
  assert.equal((await refreshed).statusCode, 200);
  await deleted;
  assert.deepEqual(await db.all('SELECT hash FROM refresh_tokens'), []);
  await other.end();
});

test('an account that waits for its deletion, or is gone, gets no app and no sandbox creator', async (t) => {
  const app = await buildApp(t);
  const { leaving, sandbox } = app.runtime;
  const [waiting, gone] = [await makeCreator(app.runtime), await makeCreator(app.runtime)];
  await leaving.ask(waiting.creatorId);
  await leaving.deleteNow(gone.creatorId);
  for (const { creatorId } of [waiting, gone]) {
    await assert.rejects(makeApp(app.runtime, 'Latemark Bot', creatorId), OwnerGone);
    await assert.rejects(sandbox.create(creatorId, 'Latemark'), OwnerGone);
  }
  assert.deepEqual(await rowsWith(app, 'Latemark'), []);
});

test('whoever signs up while an account of the same name is being deleted does not get the name', async (t) => {
  const app = await buildApp(t);
  const { accounts, db, leaving } = app.runtime;
  const { creatorId } = await makeCreator(app.runtime, 'malee_who_leaves');
  // The deletion ends while the password is hashed, before the new account is written.
  const write = db.write.bind(db);
  t.mock.method(db, 'write', async (...args: Parameters<typeof write>) => {
    if (args[0].name === 'insertCreator') await leaving.deleteNow(creatorId);
    return write(...args);
  });
  const signUp = () => accounts.add({ username: 'malee_who_leaves', password: 'a long password' });
  await assert.rejects(signUp(), /is taken/);
  t.mock.restoreAll();
  await leaving.deleteNow(creatorId);
  await assert.rejects(signUp(), /is taken/);
});

test('an app that is deleted while a creator approves it gets no grant', async (t) => {
  const { runtime } = await buildApp(t);
  const { apps, grants, db } = runtime;
  const { creatorId } = await makeCreator(runtime);
  const { creatorId: owner } = await makeCreator(runtime);
  const { clientId } = await makeApp(runtime, 'Latemark Bot', owner);
  await grants.deleteApp(owner, clientId);
  const approved = { clientId, scopes: [], redirectUri: 'https://app.test/callback', codeChallenge: null };
  await assert.rejects(grants.approve(creatorId, approved), OwnerGone);
  assert.equal(await apps.byId(clientId).catch(() => undefined), undefined);
  assert.deepEqual(await db.all('SELECT id FROM grants'), []);
});

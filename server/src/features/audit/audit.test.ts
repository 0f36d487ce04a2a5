import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../../../sdk/test/until.ts';
import { buildApp } from '../../../test/build-app.ts';
import { runCommand } from '../../../test/cli-process.ts';
import { makeApp, makeCreator, makePair, makePublicApp } from '../../../test/factories.ts';
import { execute } from '../../../test/sql.ts';
import { createVisitor } from '../../../test/visitor.ts';

const day = 86_400_000;

test('removing the demo world is a row, and the rows of the demo are gone with it', async (t) => {
  const { runtime, env } = await buildApp(t);
  await runtime.demo.ensure();
  const { code, err } = await runCommand(env, 'demo', 'remove');
  assert.equal(code, 0, err);
  const rows = await runtime.audit.list({}, { limit: 100 });
  assert.deepEqual(
    rows.filter(({ action }) => action !== 'signing_key.created').map(({ action, actor }) => [action, actor]),
    [['demo.removed', 'operator']],
  );
  await runCommand(env, 'demo', 'remove');
  assert.equal((await runtime.audit.list({ action: 'demo.removed' }, { limit: 100 })).length, 1, 'nothing was removed');
});

test('replacing the sealing key is a row', async (t) => {
  const { runtime } = await buildApp(t, { SECRET_KEY_OLD: 'k'.repeat(40) });
  await runtime.sealing.begin();
  const rows = await runtime.audit.list({ action: 'secret_key.rotated' }, { limit: 10 });
  assert.deepEqual(
    rows.map(({ creator_id, details }) => [creator_id, details]),
    [[null, {}]],
  );
});

test('a change whose row cannot be written is not made, and one that fails leaves no row', async (t) => {
  const { runtime } = await buildApp(t);
  const { db, accounts, audit, origins } = runtime;
  const { creatorId } = await makeCreator(runtime);
  const origin = origins.current();
  await assert.rejects(
    accounts.add({ username: (await accounts.byId(creatorId))?.username ?? '', password: 'x'.repeat(10) }),
  );
  assert.deepEqual(await audit.list({}, { limit: 10 }), [], 'the username is taken');
  const { writes } = await import('../accounts/repo.ts');
  await db.write(writes.setSuspended, origin, creatorId, 1);
  // The second row would have the id of the first.
  await assert.rejects(db.write(writes.setSuspended, origin, creatorId, null));
  assert.equal((await accounts.byId(creatorId))?.suspended_at, 1);
  assert.equal((await audit.list({}, { limit: 10 })).length, 1);
});

test('wrong passwords of an hour share a row, which a stranger cannot multiply', async (t) => {
  const app = await buildApp(t);
  const { audit, accounts } = app.runtime;
  const { id } = await accounts.add({ username: 'mali', password: 'a long password' });
  const guess = async (address: string) => {
    const visitor = createVisitor(app, { address });
    await visitor.get('/login');
    assert.equal((await visitor.post('/login', { username: 'mali', password: 'a wrong password' })).statusCode, 401);
  };
  const refused = () => audit.list({ creatorId: id, action: 'session.refused' }, { limit: 100 });
  for (let i = 1; i <= 5; i += 1) {
    await guess(`192.0.2.${i}`);
    await until('it is counted', async () => (await refused())[0]?.times === i);
  }
  assert.deepEqual(
    (await refused()).map(({ times, address, actor }) => [times, address, actor]),
    [[5, '192.0.2.5', 'visitor']],
  );
  app.clock.advance(3_600_001);
  await guess('192.0.2.6');
  await until('another hour has another row', async () => (await refused()).length === 2);
});

test('a script that changes an account all day makes few rows, none of another account', async (t) => {
  const { runtime, clock } = await buildApp(t);
  const { audit, apps, webhooks } = runtime;
  const [owner, other] = [await makeCreator(runtime), await makeCreator(runtime)];
  const { clientId } = await makeApp(runtime, 'Bot', owner.creatorId);
  const theirs = await makeApp(runtime, 'Theirs', other.creatorId);
  const rename = (name: string) =>
    apps.edit(owner.creatorId, clientId, { name, redirectUris: ['https://app.example/callback'] });
  for (let i = 0; i < 520; i += 1) {
    await rename(`Bot ${i}`);
    clock.advance(1000);
  }
  const rows = await audit.list({ creatorId: owner.creatorId }, { limit: 1000 });
  assert.equal(rows.length, 500);
  assert.equal(
    rows.reduce((sum, { times }) => sum + times, 0),
    521,
    'each is counted',
  );
  // What has not happened that day still gets a row of its own.
  await webhooks.add(clientId, { url: 'https://hooks.example/', types: null, description: null });
  assert.equal((await audit.list({ action: 'webhook.created' }, { limit: 10 })).length, 1);
  assert.equal((await audit.list({ clientId: theirs.clientId }, { limit: 10 })).length, 1);
  clock.advance(2 * day);
  await rename('Bot');
  assert.equal((await audit.list({ creatorId: owner.creatorId }, { limit: 1000 })).length, 502);
});

test('whoever fills the log of a day does not hide a sign-in in a row of the owner’s', async (t) => {
  const { runtime, clock } = await buildApp(t);
  const { audit, db, newId, signIn, origins } = runtime;
  const { creatorId } = await makeCreator(runtime);
  const signInFrom = (address: string) => {
    clock.advance(1000);
    return origins.run(
      () => ({ actor: null, address, requestId: null, osUser: null }),
      () => signIn.begin(creatorId, 'password', { address, userAgent: 'Firefox' }),
    );
  };
  const fill = (action: string) => {
    const rows = Array.from({ length: 500 }, () => `('${newId('aud')}', $1, '${action}', $2, $2, '{}', $1)`);
    return execute(
      db,
      `INSERT INTO audit (id, at, action, actor, creator_id, details, last_at) VALUES ${rows.join(', ')}`,
      [clock(), creatorId],
    );
  };
  await signInFrom('192.0.2.1');
  await fill('account.profile_changed');
  for (const address of ['198.51.100.66', '192.0.2.1']) await signInFrom(address);
  const signIns = async () => {
    const rows = await audit.list({ creatorId, action: 'session.started' }, { limit: 1000 });
    return rows.map(({ address, times }) => `${address} ${times}`);
  };
  assert.deepEqual(await signIns(), ['192.0.2.1 1', '198.51.100.66 1', '192.0.2.1 1']);
  // Sign-ins themselves have an end too.
  await fill('session.started');
  for (const address of ['192.0.2.1', '192.0.2.1']) await signInFrom(address);
  assert.equal((await signIns()).length, 503);
});

test('creators do not learn where the server of somebody else’s app stands, only their own devices and apps', async (t) => {
  const { runtime } = await buildApp(t);
  const { audit, grants, origins } = runtime;
  const [owner, developer] = [await makeCreator(runtime), await makeCreator(runtime)];
  const addressOf = async (app: { clientId: string; clientSecret: string }) => {
    const { creatorId, clientId } = await makePair(runtime, { creator: owner, app });
    await origins.run(
      () => ({ actor: clientId, address: '192.0.2.44', requestId: 'req_1', osUser: null }),
      () => grants.revoke(creatorId, clientId, 'app'),
    );
    const [row] = await audit.list({ creatorId, clientId, action: 'grant.ended' }, { limit: 1 });
    assert.equal(row?.request_id, 'req_1');
    return row?.address;
  };
  assert.equal(await addressOf(await makeApp(runtime, 'Theirs', developer.creatorId)), null);
  assert.equal(await addressOf(await makeApp(runtime, 'Mine', owner.creatorId)), '192.0.2.44');
  assert.equal(await addressOf(await makePublicApp(runtime)), '192.0.2.44');
});

test('an account that is erased leaves rows without addresses and details; a year later there are none', async (t) => {
  const { runtime, clock } = await buildApp(t);
  const { audit, accounts, recovery, db } = runtime;
  const { id } = await accounts.add({ username: 'mali', password: 'a long password' });
  const { id: other } = await accounts.add({ username: 'somchai', password: 'a long password' });
  for (let i = 0; i < 3; i += 1) await recovery.renew(id);
  await execute(db, `UPDATE audit SET address = '192.0.2.1'`, []);
  await audit.erase(id);
  const rows = await audit.list({ creatorId: id }, { limit: 100 });
  assert.equal(rows.length, 4);
  for (const { address, details } of rows) assert.deepEqual([address, details], [null, {}]);
  const [theirs] = await audit.list({ creatorId: other }, { limit: 100 });
  assert.deepEqual([theirs?.address, theirs?.details], ['192.0.2.1', { username: 'somchai' }]);
  clock.advance(364 * day);
  await audit.prune();
  assert.equal((await audit.list({}, { limit: 100 })).length, 5);
  clock.advance(2 * day);
  await audit.prune();
  assert.deepEqual(await audit.list({}, { limit: 100 }), []);
});

test('whoever follows the log misses no row of a node whose clock is ahead or behind, and sees each once', async (t) => {
  const { runtime, clock } = await buildApp(t);
  const { audit, recovery } = runtime;
  const { creatorId } = await makeCreator(runtime);
  const minute = 60_000;
  /** A node whose clock is off by so much makes a row. */
  async function rowAt(offMs: number): Promise<number> {
    clock.advance(offMs);
    await recovery.renew(creatorId);
    const at = clock();
    clock.advance(-offMs);
    return at;
  }
  const old = [await rowAt(-50 * minute), await rowAt(-20 * minute), await rowAt(0)];
  const listed = await audit.list({ creatorId }, { limit: 2 });
  assert.deepEqual(
    listed.map(({ at }) => Date.parse(at)),
    old.slice(1),
  );
  const next = audit.after({ creatorId }, listed);
  const seen = async () => (await next()).map(({ at }) => Date.parse(at));
  assert.deepEqual(await seen(), [], 'rows of before are not listed again');

  clock.advance(1000);
  const ahead = await rowAt(120 * minute);
  assert.deepEqual(await seen(), [ahead]);
  const right = await rowAt(0);
  assert.deepEqual(await seen(), [right], 'although a row of two hours later is there');
  const [slightly, far] = [await rowAt(-minute / 2), await rowAt(-30 * minute)];
  assert.deepEqual(await seen(), [slightly]);
  clock.advance(minute);
  assert.deepEqual(await seen(), [far]);
  clock.advance(minute);
  assert.deepEqual(await seen(), []);
});

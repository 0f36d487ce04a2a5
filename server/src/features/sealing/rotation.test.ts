import assert from 'node:assert/strict';
import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { until } from '../../../../sdk/test/until.ts';
import { buildApp, onNodes, storageSettings } from '../../../test/build-app.ts';
import { runCommand } from '../../../test/cli-process.ts';
import { makePair } from '../../../test/factories.ts';
import {
  after,
  assertAllOpen,
  assertNoneOpens,
  before,
  both,
  firstKey,
  keysOfAll,
  makeSealed,
  secondKey,
} from '../../../test/sealed.ts';
import { execute } from '../../../test/sql.ts';
import { temporaryDirectory } from '../../../test/temporary-directory.ts';
import { signedInVisitor } from '../../../test/visitor.ts';
import { sealedColumns } from '../../platform/db/tables.ts';

const rotate = (env: Record<string, string>, ...args: string[]) =>
  runCommand({ LOG_LEVEL: 'silent', ...env }, 'secret-key', 'rotate', '--json', ...args);

test('SECRET_KEY is replaced while servers run: sessions, cursors and open forms live through it', async (t) => {
  const store = await storageSettings(t);
  const old = await buildApp(t, { ...store, ...before });
  const made = await makeSealed(old.runtime, 60);
  const pair = await makePair(old.runtime);
  for (const name of ['A SUPPORTER', 'B SUPPORTER'])
    await old.runtime.tips.record({
      ...{ creatorId: pair.creatorId, app: null, amount: 1, name, displayName: null, message: null },
    });
  const page = (app: typeof old, cursor = '') =>
    app.http.inject({ url: `/v1/tips?limit=1${cursor && `&cursor=${cursor}`}`, headers: pair.headers });
  const { next_cursor: cursor } = (await page(old)).json();
  const visitor = await signedInVisitor(old, pair.creatorId);
  const [session] = visitor.cookies.values();
  const form = (await visitor.get('/dashboard/profile')).body;
  const csrf = /name="csrf" value="([^"]+)"/.exec(form)?.[1] ?? '';
  const device = await old.runtime.devices.begin(pair.clientId, ['tips.read'], '127.0.0.1');

  // Phase 1: the servers get both keys, one after another. Until all have them, the old key seals.
  const node = await old.runtime.sealing.join();
  const next = await buildApp(t, { ...store, ...both });
  const nextNode = await next.runtime.sealing.join();
  t.after(() => nextNode.close());
  await next.runtime.sealing.check();
  await next.runtime.overlays.replaceKey(made.owner);
  assert.equal(await old.runtime.overlays.key(made.owner), await next.runtime.overlays.key(made.owner));
  assert.equal((await page(old, (await page(next)).json().next_cursor)).statusCode, 200, 'the old key signs');
  const refused = await rotate({ ...store, ...both });
  assert.deepEqual([refused.code, JSON.parse(refused.err).error.code], [1, 'nodes_lack_keys'], refused.err);
  assert.equal(JSON.parse((await rotate({ ...store, ...both }, '--check')).out).begun, false);
  await node.close();

  // Phases 2 and 3.
  const done = await rotate({ ...store, ...both });
  assert.equal(done.code, 0, done.err);
  const secrets = await assertAllOpen(next.runtime, secondKey);
  const { resealed, ...rest } = JSON.parse(done.out);
  assert.deepEqual(rest, { complete: true, secrets });
  assert.equal(resealed, secrets, 'all of them, once');
  await assertNoneOpens(next.runtime, firstKey);
  const kinds = new Set(Object.keys(await keysOfAll(next.runtime, secondKey)).map((place) => place.split(' ')[0]));
  const places = sealedColumns.map(({ table, column }) => `${table}.${column}`);
  assert.deepEqual([...kinds].sort(), places.sort(), 'makeSealed has something for each sealed column');
  assert.equal(next.runtime.vault.sealingKey(), next.runtime.vault.keyId, 'the server has taken notice');

  // What was open before goes on with a server that has both keys.
  assert.equal((await page(next, cursor)).statusCode, 200);
  const cookie = `namjai=${session}`;
  const post = await next.http.inject({
    method: 'POST',
    url: '/dashboard/profile',
    headers: { cookie, origin: next.runtime.config.authUrl, 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({ csrf, display_name: 'Mali' }).toString(),
  });
  assert.notEqual(post.statusCode, 403, post.body);
  assert.ok('device' in (await next.runtime.devices.find(pair.creatorId, '127.0.0.1', device.user_code)));

  // Phase 4: the new key alone. The old one is useless.
  const last = await buildApp(t, { ...store, ...after });
  await last.runtime.sealing.check();
  assert.equal((await page(last, (await page(next)).json().next_cursor)).statusCode, 200);
  assert.equal((await page(last, cursor)).statusCode, 422, 'the old key signs no cursor');
  assert.equal(
    (await last.http.inject({ url: '/dashboard', headers: { cookie } })).statusCode,
    200,
    'the session lives',
  );
  assert.equal(await last.runtime.overlays.key(made.owner), await next.runtime.overlays.key(made.owner));
  const hash = await last.runtime.webhooks.secretHash(made.clientId, made.webhookId);
  assert.ok(await last.runtime.webhooks.rotateSecretOnce(made.clientId, made.webhookId, hash));

  // A server that has only the old key, such as one that was asleep, says so and seals nothing.
  assert.equal((await old.http.inject('/readyz')).statusCode, 200);
  await old.runtime.sealing.refresh();
  assert.deepEqual((await old.http.inject('/readyz')).json(), { status: 'secret key replaced' });
  await assert.rejects(old.runtime.overlays.replaceKey(made.owner), /SECRET_KEY was replaced/);
  await assert.rejects(old.runtime.sealing.check(), /^SealingError: SECRET_KEY is not|SECRET_KEY is not the key/);
  const status = JSON.parse((await rotate({ ...store, ...after }, '--check')).out);
  assert.deepEqual([status.complete, status.old, status.unopened], [true, 0, 0]);
});

test('a rotation that stopped in the middle needs the old key, and a server goes on with it', async (t) => {
  const store = await storageSettings(t);
  const old = await buildApp(t, { ...store, ...before });
  await makeSealed(old.runtime, 60);
  const next = await buildApp(t, { ...store, ...both });
  assert.equal(await next.runtime.sealing.begin(), true);
  let batches = 0;
  const stop = next.runtime.sealing.advance(() => {
    batches += 1;
    if (batches === 2) throw new Error('stopped');
  });
  await assert.rejects(stop, /stopped/);
  await assertAllOpen(next.runtime, secondKey, firstKey);
  assert.ok((await next.runtime.sealing.status()).old > 0, 'something is left');
  await next.runtime.sealing.check();

  const early = await buildApp(t, { ...store, ...after });
  await assert.rejects(early.runtime.sealing.check(), /SECRET_KEY_OLD is needed: \d+ secrets/);
  const wrong = await buildApp(t, {
    ...store,
    SECRET_KEY: secondKey,
    SECRET_KEY_OLD: 'neither of the two keys of this test',
  });
  await assert.rejects(wrong.runtime.sealing.check(), /SECRET_KEY_OLD has another key than is needed/);

  // The first run seals the rest, the second finds nothing.
  await next.runtime.sealing.resume();
  await next.runtime.sealing.resume();
  assert.equal((await next.runtime.sealing.status()).complete, true);
  await assertNoneOpens(next.runtime, firstKey);
  await early.runtime.sealing.check();
});

test('what is replaced while it is sealed anew stays replaced', async (t) => {
  const store = await storageSettings(t);
  const old = await buildApp(t, { ...store, ...before });
  const { owner } = await makeSealed(old.runtime, 3);
  const next = await buildApp(t, { ...store, ...both });
  await next.runtime.sealing.begin();
  const { db, vault } = next.runtime;
  // Between the reading of a value and the writing of the same value sealed anew.
  const { open } = vault;
  let replaced: Promise<void> | undefined;
  t.mock.method(vault, 'open', (sealed: Uint8Array, context: string) => {
    if (context === `overlay-key:${owner}`) replaced ??= next.runtime.overlays.replaceKey(owner);
    return open(sealed, context);
  });
  const write = db.write.bind(db);
  t.mock.method(db, 'write', async (...args: Parameters<typeof write>) => {
    if (args[0].name === 'replaceSealed') await replaced;
    return write(...args);
  });
  const pass = await next.runtime.sealing.advance();
  t.mock.restoreAll();
  assert.deepEqual([pass.changed, pass.complete], [1, false]);
  const key = await next.runtime.overlays.key(owner);
  assert.equal(await next.runtime.overlays.creatorOf(key), owner, 'the key that is shown is the one that works');
  assert.equal((await next.runtime.sealing.advance()).complete, true);
});

test('keys that do not fit are refused before anything is sealed with them', async (t) => {
  const store = await storageSettings(t);
  const old = await buildApp(t, { ...store, ...before });
  await makeSealed(old.runtime, 1);
  const swapped = await rotate({ ...store, SECRET_KEY: firstKey, SECRET_KEY_OLD: secondKey });
  assert.match(
    JSON.parse(swapped.err).error.message,
    /^SECRET_KEY_OLD is not the key that this database is sealed with/,
  );
  const none = await rotate({ ...store, ...after });
  assert.deepEqual([none.code, JSON.parse(none.err).error.code], [1, 'no_old_key']);
  await execute(old.runtime.db, `UPDATE overlays SET sealed_key = $1`, [Buffer.alloc(60, 7)]);
  const lost = await rotate({ ...store, ...both });
  assert.equal(JSON.parse(lost.err).error.code, 'secrets_unopened', lost.err);
  assert.match(JSON.parse(lost.err).error.message, /overlays\.sealed_key of crt_/);
});

test('in development the keys are files beside the database', { skip: onNodes }, async (t) => {
  const directory = temporaryDirectory(t);
  const env = { DATABASE_URL: `sqlite:${join(directory, 'namjai.db')}` };
  const app = await buildApp(t, env);
  await makeSealed(app.runtime, 1);
  renameSync(join(directory, 'secret.key'), join(directory, 'secret.key.old'));
  const done = await rotate(env);
  assert.equal(JSON.parse(done.out || done.err).complete, true, done.err);
  rmSync(join(directory, 'secret.key.old'));
  const last = await buildApp(t, env);
  await last.runtime.sealing.check();
  assert.deepEqual((await last.runtime.sealing.status()).unopened, []);
  await until('the first server is told', async () => {
    await app.runtime.sealing.refresh();
    return app.runtime.sealing.lacksKey();
  });
});

const thirdKey = 'the third of the keys of these tests';

test('a rotation back to an earlier key is not complete because the earlier one was', async (t) => {
  const store = await storageSettings(t);
  const first = await buildApp(t, { ...store, ...before });
  await makeSealed(first.runtime, 60);
  const { sealing: toSecond } = (await buildApp(t, { ...store, ...both })).runtime;
  await toSecond.begin();
  for (let complete = false; !complete; ) ({ complete } = await toSecond.advance());
  const toThird = await buildApp(t, { ...store, SECRET_KEY: thirdKey, SECRET_KEY_OLD: secondKey });
  await toThird.runtime.sealing.begin();
  const killed = () => {
    throw new Error('killed');
  };
  await assert.rejects(toThird.runtime.sealing.advance(killed), /killed/);
  const back = await buildApp(t, { ...store, SECRET_KEY: secondKey, SECRET_KEY_OLD: thirdKey });
  assert.equal(await back.runtime.sealing.begin(), true);

  // It was killed too, before it had sealed anything.
  assert.equal((await back.runtime.sealing.status()).complete, false);
  const alone = await buildApp(t, { ...store, ...after });
  await assert.rejects(alone.runtime.sealing.check(), /SECRET_KEY_OLD is needed: \d+ secrets/);
  await back.runtime.sealing.resume();
  await back.runtime.sealing.resume();
  assert.equal((await back.runtime.sealing.status()).complete, true);
  await assertNoneOpens(back.runtime, thirdKey);
  await alone.runtime.sealing.check();
});

test('of two operators who begin at nearly the same moment, with different keys, one is refused', async (t) => {
  // Reads take turns of the event loop only on PostgreSQL.
  for (let later = 0; later < (onNodes ? 12 : 1); later++) {
    const store = await storageSettings(t);
    const old = await buildApp(t, { ...store, ...before });
    await makeSealed(old.runtime, 3);
    const [one, two] = [
      await buildApp(t, { ...store, ...both }),
      await buildApp(t, { ...store, SECRET_KEY: thirdKey, SECRET_KEY_OLD: firstKey }),
    ];
    const first = Promise.allSettled([one.runtime.sealing.begin()]);
    for (let turn = 0; turn < later; turn++) await nextIteration();
    const second = Promise.allSettled([two.runtime.sealing.begin()]);
    const begun = [...(await first), ...(await second)];
    assert.deepEqual(begun.map(({ status }) => status).sort(), ['fulfilled', 'rejected'], `${later} turns later`);
    const rows = await old.runtime.audit.list({ action: 'secret_key.rotated' }, { limit: 10 });
    assert.equal(rows.length, 1);
  }
});

test('two operators who begin with the same keys begin one rotation', async (t) => {
  const store = await storageSettings(t);
  await buildApp(t, { ...store, ...before });
  const [one, two] = [await buildApp(t, { ...store, ...both }), await buildApp(t, { ...store, ...both })];
  const begun = await Promise.all([one.runtime.sealing.begin(), two.runtime.sealing.begin()]);
  assert.deepEqual(begun.sort(), [false, true]);
  const rows = await one.runtime.audit.list({ action: 'secret_key.rotated' }, { limit: 10 });
  assert.equal(rows.length, 1);
});

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { createAuthenticator } from '../../../test/authenticator.ts';
import { freshDatabase } from '../../../test/postgres.ts';
import { systemClock } from '../../platform/clock.ts';
import { migrate } from '../../platform/db/migrate.ts';
import { openPostgres } from '../../platform/db/postgres.ts';
import { createIds } from '../../platform/ids.ts';
import { createLog } from '../../platform/log.ts';
import { createOrigins } from '../../platform/origin.ts';
import { createVault } from '../../platform/vault.ts';
import {
  createAccounts,
  createPasskeys,
  createPasswords,
  createRecovery,
  createSessions,
  createSignIn,
  createThrottle,
} from './index.ts';

const authUrl = 'http://localhost:8080';
const from = (address: string) => ({ address, userAgent: '' });

async function setup(t: TestContext) {
  const db = openPostgres({ url: await freshDatabase(t), withinMs: 60_000 });
  t.after(() => db.close());
  await migrate(db);
  const clock = systemClock;
  const newId = createIds(clock);
  const origins = createOrigins(clock, newId);
  const passwords = createPasswords({ wait: async () => {} });
  const accounts = createAccounts({
    db,
    origins,
    clock,
    newId,
    passwords,
    isNameTaken: async () => false,
    authUrl,
  });
  const log = createLog({ level: 'silent' });
  const sessions = createSessions({ db, origins, clock, newId, log });
  const throttle = createThrottle({ db, clock, wait: async () => {} });
  const signIn = createSignIn({ db, origins, log, sessions, throttle, passwords });
  const passkeys = createPasskeys({ db, origins, clock, newId, vault: createVault('k'.repeat(32)), sessions, authUrl });
  const recovery = createRecovery({ db, origins, clock, sessions, throttle, passwords, refuse: signIn.refuse });
  return { db, accounts, sessions, throttle, signIn, passkeys, recovery };
}

test('signing in by every way, its races and its pauses hold on PostgreSQL', async (t) => {
  const { accounts, sessions, throttle, signIn, passkeys, recovery } = await setup(t);
  const { id } = await accounts.add({ username: 'mali', password: 'correct horse battery' });
  const first = await signIn.withPassword('mali', 'correct horse battery', from('192.0.2.1'));
  assert.equal(first.outcome, 'ok');
  const session = first.outcome === 'ok' ? await sessions.find(first.token, from('192.0.2.1')) : undefined;
  assert.equal(session?.creatorId, id);

  const guesses = await Promise.all(
    Array.from({ length: 20 }, () => signIn.withPassword('mali', 'wrong', from('192.0.2.2'))),
  );
  assert.equal(guesses.filter(({ outcome }) => outcome === 'wrong').length, 13);
  assert.equal(guesses.filter(({ outcome }) => outcome === 'throttled').length, 7);

  const authenticator = createAuthenticator(authUrl);
  const { challenge } = await passkeys.addOptions(session, 'browser');
  assert.equal(await passkeys.add(id, 'browser', authenticator.create(challenge), 'Phone'), true);
  const answer = authenticator.get((await passkeys.signInOptions('browser')).challenge);
  const uses = await Promise.all(Array.from({ length: 5 }, () => passkeys.signIn('browser', answer, from(''))));
  assert.equal(uses.filter(({ outcome }) => outcome === 'ok').length, 1);

  const [code = ''] = await recovery.renew(id);
  const recoveries = await Promise.all(
    Array.from({ length: 8 }, (_, i) => recovery.signIn('mali', code, 'another good one', from(`192.0.2.1${i}`))),
  );
  assert.equal(recoveries.filter(({ outcome }) => outcome === 'ok').length, 1);
  assert.equal(await recovery.left(id), 9);
  assert.equal((await sessions.list(id)).length, 1, 'a recovery ends the sessions of before');

  await accounts.setPassword(id, 'yet another good one');
  assert.deepEqual(await sessions.list(id), []);
  for (const part of [sessions, throttle, passkeys]) await part.prune();
});

test('of passkeys that are added at once no more than twenty stay, and of codes that are made at once ten', async (t) => {
  const { accounts, sessions, signIn, passkeys, recovery } = await setup(t);
  const { id } = await accounts.add({ username: 'mali', password: 'correct horse battery' });
  const session = await sessions.find(await signIn.begin(id, 'password', from('192.0.2.1')), from('192.0.2.1'));
  assert.ok(session);
  const credentials = await Promise.all(
    Array.from({ length: 30 }, async (_, i) => {
      const { challenge } = await passkeys.addOptions(session, `browser ${i}`);
      return createAuthenticator(authUrl).create(challenge);
    }),
  );
  const added = await Promise.all(credentials.map((each, i) => passkeys.add(id, `browser ${i}`, each, 'Phone')));
  assert.equal(added.filter(Boolean).length, 20);
  assert.equal((await passkeys.list(id)).length, 20);

  await Promise.all(Array.from({ length: 5 }, () => recovery.renew(id)));
  assert.equal(await recovery.left(id), 10);
});

test('security 37: attempts at once are counted in a few commits, each in its own count', async (t) => {
  const { db, throttle } = await setup(t);
  const attemptAll = (): Promise<number[]> =>
    Promise.all(Array.from({ length: 150 }, (_, i) => throttle.enter(`nobody_${i}`, '192.0.2.1')));
  for (let round = 1; round <= 13; round += 1) {
    const before = db.stats().commits;
    assert.deepEqual(new Set(await attemptAll()), new Set([0]), `round ${round}`);
    const commits = db.stats().commits - before;
    // The thirteenth attempt of an account begins a pause, in a transaction of its own.
    if (round < 13) assert.ok(commits <= 30, `${commits} commits`);
  }
  assert.ok((await attemptAll()).every((retryAfter) => retryAfter > 0));
});

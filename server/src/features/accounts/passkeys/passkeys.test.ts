import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAuthenticator, type Lies } from '../../../../test/authenticator.ts';
import { buildApp, type TestApp } from '../../../../test/build-app.ts';
import { makeCreator } from '../../../../test/factories.ts';
import { createVisitor, signedInVisitor, type Visitor } from '../../../../test/visitor.ts';

const challengeOf = async (visitor: Visitor, url: string): Promise<string> =>
  (await visitor.post(url)).json().challenge;

async function addPasskey(app: TestApp, owner: Visitor, lies: Lies = {}) {
  const authenticator = createAuthenticator(app.runtime.config.authUrl);
  const challenge = await challengeOf(owner, '/account/passkeys/options');
  const answer = await owner.post('/account/passkeys', {
    credential: authenticator.create(challenge, lies),
    name: 'Phone <b>',
  });
  return { authenticator, challenge, answer };
}

test('a passkey is added, named, signs in without a name or password, and is removed', async (t) => {
  const app = await buildApp(t);
  const { creatorId } = await makeCreator(app.runtime);
  const owner = await signedInVisitor(app, creatorId);
  const { authenticator, answer } = await addPasskey(app, owner);
  assert.equal(answer.headers.location, '/account', answer.body);
  const page = await owner.get('/account');
  assert.match(page.body, /Phone &#60;b&#62;/);
  const id = /passkeys\/(psk_\w+)\/name/.exec(page.body)![1]!;

  const visitor = createVisitor(app, { address: '192.0.2.1' });
  await visitor.get('/login');
  const challenge = await challengeOf(visitor, '/login/passkey/options');
  const signedIn = await visitor.post('/login/passkey?return_to=%2Faccount', {
    credential: authenticator.get(challenge),
  });
  assert.equal(signedIn.headers.location, '/account');
  assert.match((await visitor.get('/account')).body, /with passkey/);

  assert.equal((await owner.post(`/account/passkeys/${id}/name`, { name: ' ' })).statusCode, 422);
  await owner.post(`/account/passkeys/${id}/name`, { name: 'โทรศัพท์' });
  assert.match((await owner.get('/account')).body, /โทรศัพท์/);
  const stranger = await signedInVisitor(app, (await makeCreator(app.runtime)).creatorId);
  assert.equal((await stranger.post(`/account/passkeys/${id}/remove`)).statusCode, 404);
  await owner.post(`/account/passkeys/${id}/remove`);
  await visitor.get('/logout');
  await visitor.post('/logout');
  await visitor.get('/login');
  const again = await challengeOf(visitor, '/login/passkey/options');
  assert.equal((await visitor.post('/login/passkey', { credential: authenticator.get(again) })).statusCode, 401);
});

test('security 29: passkeys refuse a wrong origin, a reused, foreign or stale challenge, and a copy', async (t) => {
  const app = await buildApp(t);
  const { creatorId } = await makeCreator(app.runtime);
  const owner = await signedInVisitor(app, creatorId);
  const { authenticator } = await addPasskey(app, owner);
  const visitor = createVisitor(app, { address: '192.0.2.1' });
  await visitor.get('/login');
  const options = () => challengeOf(visitor, '/login/passkey/options');
  const status = async (credential: string) => (await visitor.post('/login/passkey', { credential })).statusCode;

  assert.equal(await status(authenticator.get(await options(), { origin: 'https://evil.example' })), 401, 'origin');
  assert.equal(await status(authenticator.get(await options(), { rpId: 'evil.example' })), 401, 'relying party');
  assert.equal(await status(authenticator.get(await options(), { userVerified: false })), 401, 'user not verified');
  assert.equal(await status(authenticator.get('bm90IG91cnM')), 401, 'a challenge of no one');

  const burnt = await options();
  assert.equal(await status(authenticator.get(burnt, { origin: 'https://evil.example' })), 401);
  assert.equal(await status(authenticator.get(burnt)), 401, 'a refused answer uses the challenge up');

  const stale = await options();
  app.clock.advance(5 * 60_000);
  assert.equal(await status(authenticator.get(stale)), 401, 'five minutes old');

  const other = createVisitor(app, { address: '192.0.2.2' });
  await other.get('/login');
  const theirs = await challengeOf(other, '/login/passkey/options');
  assert.equal(await status(authenticator.get(theirs)), 401, 'asked for by another browser');
  const forAdding = await challengeOf(owner, '/account/passkeys/options');
  assert.equal(
    (await owner.post('/login/passkey', { credential: authenticator.get(forAdding) })).statusCode,
    401,
    'asked for to add a passkey',
  );

  for (const credential of ['', '{', '[]', 'null', '{"id":1}', '{"id":"x","response":{"clientDataJSON":"!"}}'])
    assert.equal(await status(credential), 401, credential);

  const good = authenticator.get(await options());
  assert.equal(await status(good), 303);
  await visitor.get('/logout');
  await visitor.post('/logout');
  await visitor.get('/login');
  assert.equal(await status(good), 401, 'replayed');
  assert.equal(await status(authenticator.get(await options(), { counter: 1 })), 401, 'the counter went back');
});

test('security 29: adding a passkey refuses a wrong origin and a reused challenge', async (t) => {
  const app = await buildApp(t);
  const { creatorId } = await makeCreator(app.runtime);
  const owner = await signedInVisitor(app, creatorId);
  for (const lies of [{ origin: 'https://evil.example' }, { rpId: 'evil.example' }, { userVerified: false }])
    assert.equal((await addPasskey(app, owner, lies)).answer.statusCode, 422, JSON.stringify(lies));
  const { challenge, answer } = await addPasskey(app, owner);
  assert.equal(answer.statusCode, 303);
  const another = createAuthenticator(app.runtime.config.authUrl);
  const reused = await owner.post('/account/passkeys', { credential: another.create(challenge), name: 'x' });
  assert.equal(reused.statusCode, 422);
  assert.equal((await app.runtime.passkeys.list(creatorId)).length, 1);
});

test('security 28: the owner’s passkey works while passwords are refused; not once suspended', async (t) => {
  const app = await buildApp(t);
  const { accounts, grants } = app.runtime;
  const { id } = await accounts.add({ username: 'mali', password: 'correct horse battery' });
  const { authenticator } = await addPasskey(app, await signedInVisitor(app, id));
  const visitor = createVisitor(app);
  await visitor.get('/login');
  for (let i = 0; i < 14; i++) await visitor.post('/login', { username: 'mali', password: 'wrong password' });
  assert.equal((await visitor.post('/login', { username: 'mali', password: 'wrong password' })).statusCode, 429);
  const use = async () => {
    const challenge = await challengeOf(visitor, '/login/passkey/options');
    return (await visitor.post('/login/passkey', { credential: authenticator.get(challenge) })).statusCode;
  };
  assert.equal(await use(), 303);
  await visitor.get('/logout');
  await visitor.post('/logout');
  await visitor.get('/login');
  await grants.suspend('creator', id, 1);
  assert.equal(await use(), 403);
});

test('a stranger makes no rows by asking for challenges, and tries at them are counted', async (t) => {
  const app = await buildApp(t);
  const stranger = createVisitor(app, { address: '192.0.2.7' });
  await stranger.get('/login');
  const authenticator = createAuthenticator(app.runtime.config.authUrl);
  const statuses: number[] = [];
  for (let i = 0; i < 70; i++) {
    const options = await stranger.post('/login/passkey/options');
    statuses.push(options.statusCode);
    if (options.statusCode !== 200) break;
    const credential = authenticator.get(options.json().challenge);
    statuses.push((await stranger.post('/login/passkey', { credential })).statusCode);
  }
  assert.deepEqual([...new Set(statuses)], [200, 401, 429]);
  assert.deepEqual(await app.runtime.db.all('SELECT hash FROM webauthn_challenges'), []);
});

test('an attestation is not looked at: its certificates name addresses that would be asked', async (t) => {
  const app = await buildApp(t);
  const { creatorId } = await makeCreator(app.runtime);
  const owner = await signedInVisitor(app, creatorId);
  // {"x5c": [h'00']}: the library refuses it as soon as it reads the certificate.
  const statement = Buffer.from('a16378356381' + '4100', 'hex');
  for (const format of ['android-key', 'apple', 'packed', 'tpm', 'fido-u2f']) {
    const { answer } = await addPasskey(app, owner, { attestation: { format, statement } });
    assert.equal(answer.headers.location, '/account', format);
  }
  const broken = { format: 'none', statement: Buffer.from([0xff]) };
  assert.equal((await addPasskey(app, owner, { attestation: broken })).answer.statusCode, 422);
});

test('of a passkey only what is needed is kept', async (t) => {
  const app = await buildApp(t);
  const { creatorId } = await makeCreator(app.runtime);
  const owner = await signedInVisitor(app, creatorId);
  const long = 'x'.repeat(5000);
  for (const transports of [['usb', long, 'usb', ['nfc']], long, { includes: true }])
    assert.equal((await addPasskey(app, owner, { transports })).answer.headers.location, '/account');
  const kept = await app.runtime.passkeys.list(creatorId);
  assert.deepEqual(kept.map(({ transports }) => transports).sort(), ['["usb"]', '[]', '[]']);
  // The library would take 70 ms to decode so much.
  const tooLong = await addPasskey(app, owner, { transports: [long, long] });
  assert.equal(tooLong.answer.statusCode, 422);
});

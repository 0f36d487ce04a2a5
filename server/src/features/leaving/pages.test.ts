import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAuthenticator } from '../../../test/authenticator.ts';
import { buildApp } from '../../../test/build-app.ts';
import { createVisitor, signedInVisitor } from '../../../test/visitor.ts';
import { keepWordsWhole } from '../../platform/web/whole-words.ts';

const day = 86_400_000;
const password = 'correct horse battery';

test('deletion asks for the name and a recent sign-in, then suspends; the owner can sign in, only to restore', async (t) => {
  const app = await buildApp(t);
  const { accounts, overlays, leaving } = app.runtime;
  const { id } = await accounts.add({ username: 'malee', password });
  const overlay = `/overlay/${await overlays.key(id)}`;
  const [visitor, elsewhere] = [await signedInVisitor(app, id), await signedInVisitor(app, id)];
  await visitor.get('/account/data');
  const wrong = await visitor.post('/account/data/delete', { username: 'Malee' });
  assert.equal(wrong.statusCode, 422);
  assert.match(wrong.body, /id="field-username-error">That is not your username/);
  assert.equal((await accounts.byId(id))?.delete_at, null);
  const asked = await visitor.post('/account/data/delete', { username: 'malee' });
  assert.equal(asked.headers.location, '/login');
  assert.match((await visitor.get('/login')).body, /will be deleted in seven days/);
  for (const browser of [visitor, elsewhere]) assert.equal((await browser.get('/account')).statusCode, 303);
  assert.equal((await app.http.inject({ url: overlay })).statusCode, 404);

  app.clock.advance(6 * day);
  await leaving.tick();
  const owner = createVisitor(app);
  await owner.get('/login');
  assert.equal((await owner.post('/login', { username: 'malee', password: 'a wrong password' })).statusCode, 401);
  const offer = await owner.post('/login', { username: 'malee', password });
  assert.equal(offer.statusCode, 403);
  assert.match(offer.body, /Keep your account\?/);
  const ticket = /name="ticket" value="([^"]+)"/.exec(offer.body)?.[1] ?? '';
  assert.equal((await owner.get('/account')).statusCode, 303, 'there is no session');
  // The ticket is worth nothing in another browser.
  const thief = createVisitor(app);
  await thief.get('/login');
  await thief.post('/login/restore', { ticket });
  assert.notEqual((await accounts.byId(id))?.delete_at, null);
  const kept = await owner.post('/login/restore', { ticket });
  assert.equal(kept.headers.location, '/login');
  assert.match((await owner.get('/login')).body, /Your account is back/);
  assert.equal((await owner.post('/login', { username: 'malee', password })).statusCode, 303);
  assert.equal((await owner.get('/account')).statusCode, 200);
  assert.equal((await app.http.inject({ url: overlay })).statusCode, 200);
  app.clock.advance(8 * day);
  await leaving.tick();
  assert.ok(await accounts.byId(id), 'it stays');
});

test('a passkey and a recovery code lead to the same page, and a ticket ends after ten minutes', async (t) => {
  const app = await buildApp(t);
  const { accounts, leaving, recovery } = app.runtime;
  const { id } = await accounts.add({ username: 'malee', password });
  const signedIn = await signedInVisitor(app, id);
  const authenticator = createAuthenticator(app.runtime.config.authUrl);
  await signedIn.get('/account');
  const { challenge } = (await signedIn.post('/account/passkeys/options')).json();
  await signedIn.post('/account/passkeys', { credential: authenticator.create(challenge), name: 'Phone' });
  const [code = ''] = await recovery.renew(id);
  await leaving.ask(id);
  const visitor = createVisitor(app);
  await visitor.get('/login');
  const options = (await visitor.post('/login/passkey/options')).json();
  const offer = await visitor.post('/login/passkey', { credential: authenticator.get(options.challenge) });
  assert.match(offer.body, /Keep your account\?/);
  const ticket = /name="ticket" value="([^"]+)"/.exec(offer.body)?.[1] ?? '';
  app.clock.advance(10 * 60_000 + 1);
  await visitor.post('/login/restore', { ticket });
  assert.match((await visitor.get('/login')).body, /took too long/);
  assert.notEqual((await accounts.byId(id))?.delete_at, null);
  await visitor.get('/login/recovery');
  const recovered = await visitor.post('/login/recovery', { username: 'malee', code, password: 'another good one' });
  assert.match(recovered.body, /Keep your account\?/);
  await visitor.post('/login/restore', { ticket: /name="ticket" value="([^"]+)"/.exec(recovered.body)?.[1] ?? '' });
  assert.equal((await accounts.byId(id))?.delete_at, null);
});

test('whom the operator has suspended for another reason cannot restore the account', async (t) => {
  const app = await buildApp(t);
  const { accounts, leaving, grants } = app.runtime;
  const { id } = await accounts.add({ username: 'malee', password });
  await leaving.ask(id);
  app.clock.advance(1000);
  await grants.suspend('creator', id, app.clock());
  const visitor = createVisitor(app);
  await visitor.get('/login');
  assert.match((await visitor.post('/login', { username: 'malee', password })).body, /This account is suspended/);
  assert.equal(await leaving.restore(id, 'owner'), false);
  assert.equal(await leaving.restore(id, 'operator'), true);
});

test('no line of the Thai page ends within a word that browsers do not know', async (t) => {
  const app = await buildApp(t);
  const { id } = await app.runtime.accounts.add({ username: 'malee', password });
  const visitor = await signedInVisitor(app, id);
  const { body } = await visitor.get('/account/data', { 'accept-language': 'th' });
  const main = body.slice(body.indexOf('<main'), body.indexOf('</main>'));
  assert.match(main, /เชื่อม\u2060ต่อ/);
  assert.equal(main, keepWordsWhole(main));
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../build-app.ts';
import { makeCreator, makePair } from '../factories.ts';
import { createVisitor, signedInVisitor } from '../visitor.ts';

const reserved = /reads as if/;
const invisible = /invisible/;
const cases: [name: string, reason: RegExp][] = [
  ['Namjai', reserved],
  ['Nаmjаi Support', reserved],
  ['Na\u200bmjai', invisible],
  ['Mali\u202eilaM', invisible],
  ['\u3164\u3164', /seen|blank/i],
];

test('security 47: a name that deceives is refused beside its field, with the reason', async (t) => {
  const app = await buildApp(t, { SIGNUP: 'open' });
  const { runtime } = app;
  const { creatorId, username } = await makeCreator(runtime);
  const stranger = createVisitor(app);
  await stranger.get('/signup');
  const visitor = await signedInVisitor(app, creatorId);
  const password = 'long enough password';
  const errorOf = (body: string, field: string) =>
    new RegExp(`id="field-${field}-error">([^<]*)<`).exec(body)?.[1] ?? assert.fail(`no error beside ${field}`);

  for (const [name, reason] of cases) {
    const signUp = await stranger.post('/signup', { username: 'mali', display_name: name, password });
    assert.equal(signUp.statusCode, 422);
    assert.match(errorOf(signUp.body, 'display_name'), reason);

    const profile = await visitor.post('/dashboard/profile', { display_name: name });
    assert.equal(profile.statusCode, 422);
    assert.match(errorOf(profile.body, 'display_name'), reason);

    const registered = await visitor.post('/developers/apps', { name, redirect_uris: 'https://app.example/' });
    assert.equal(registered.statusCode, 422);
    assert.match(errorOf(registered.body, 'name'), reason);

    // The command line goes this way.
    await assert.rejects(runtime.accounts.add({ username: 'mali', displayName: name, password }), reason);
    await assert.rejects(runtime.apps.add({ name, redirectUris: ['https://app.example/'], ownerId: null }), reason);
  }
  for (const taken of ['namjai', 'namjai_support', 'n4mja1', 'admin']) {
    const signUp = await stranger.post('/signup', { username: taken, display_name: '', password });
    assert.equal(signUp.statusCode, 422);
    assert.match(errorOf(signUp.body, 'username'), reserved);
  }
  assert.equal((await runtime.accounts.byId(creatorId))?.display_name, username);
  assert.deepEqual(await runtime.apps.ofOwner(creatorId), []);
  assert.equal(await runtime.accounts.findByUsername('mali'), undefined);
  const fine = await visitor.post('/dashboard/profile', { display_name: 'น้ำใจงาม 👨‍👩‍👧‍👦' });
  assert.equal(fine.statusCode, 303);
});

test('a supporter may use any display_name that can be seen, without controls', async (t) => {
  const { http, runtime } = await buildApp(t);
  const { headers } = await makePair(runtime);
  const tip = (display_name: string) =>
    http.inject({ method: 'POST', url: '/v1/tips', headers, payload: { amount: 1, name: 'NOK', display_name } });
  for (const name of ['Namjai', 'Admin', 'Ma\u200bli', 'Ma\u200dli', `Z${'\u0301'.repeat(39)}`]) {
    const answer = await tip(name);
    assert.equal(answer.statusCode, 201, name);
    assert.equal(answer.json().display_name, name, 'it is sent as it came');
  }
  for (const name of ['\u202eMali', 'a\u0007', '\u3164', '\u2800', ' '])
    assert.equal((await tip(name)).statusCode, 422);
});

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { buildApp } from '../../../test/build-app.ts';
import { makeApp, makeCreator, makePair } from '../../../test/factories.ts';
import { createVisitor, signedInVisitor } from '../../../test/visitor.ts';
import { allScopes } from '../oauth/index.ts';

const home = '/developers/sandbox';

async function setup(t: Pick<TestContext, 'after'>) {
  const app = await buildApp(t);
  const developer = await makeCreator(app.runtime);
  const client = await makeApp(app.runtime, 'Goal Bot', developer.creatorId);
  const visitor = await signedInVisitor(app, developer.creatorId);
  await visitor.get(home);
  const made = await visitor.post(home, { name: 'Trial' });
  assert.equal(made.statusCode, 303);
  const path = String(made.headers.location);
  return { ...app, developer, client, visitor, path, id: path.slice(home.length + 1) };
}

const textOf = (html: string) => html.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
const ticked = Object.fromEntries(allScopes.map((scope) => [`scope.${scope}`, 'on']));

test('a developer makes, names and removes sandbox creators in the portal', async (t) => {
  const { visitor, path, runtime, developer } = await setup(t);
  assert.match(textOf((await visitor.get('/developers')).body), /Sandbox creators/);
  assert.match(textOf((await visitor.get(home)).body), /Trial @sandbox_\w{12} Sandbox/);
  const refused = await visitor.post(`${path}/name`, { name: 'Namjai' });
  assert.equal(refused.statusCode, 422);
  assert.match(refused.body, /aria-invalid="true"/);
  await visitor.post(`${path}/name`, { name: 'Second Trial' });
  assert.match(textOf((await visitor.get(path)).body), /Second Trial/);
  for (const name of ['2', '3', '4', '5', '6']) await visitor.post(home, { name });
  assert.equal((await runtime.sandbox.list(developer.creatorId)).length, 5);
  assert.match(textOf((await visitor.get(home)).body), /at most 5 sandbox creators/);
  assert.equal((await visitor.post(`${path}/remove`)).headers.location, home);
  assert.equal((await visitor.get(path)).statusCode, 404);
});

test('the form that is sent twice makes one', async (t) => {
  const { visitor, runtime, developer } = await setup(t);
  const key = /name="key" value="([^"]+)"/.exec((await visitor.get(home)).body)?.[1] ?? '';
  const first = await visitor.post(home, { name: 'Twice', key });
  const second = await visitor.post(home, { name: 'Twice', key });
  assert.equal(second.headers.location, first.headers.location);
  assert.equal((await runtime.sandbox.list(developer.creatorId)).length, 2);
});

test('one click connects an app and shows tokens once; it is listed apart from real creators', async (t) => {
  const { visitor, path, client, http, id, runtime } = await setup(t);
  const { clientId } = client;
  await makePair(runtime, { app: client });
  const page = await visitor.post(`${path}/connect`, { client_id: clientId, ...ticked });
  assert.equal(page.statusCode, 201);
  const token = /value="(eyJ[^"]+)"/.exec(page.body)?.[1];
  assert.match(page.body, /value="njr_\w+"/);
  const me = (await http.inject({ url: '/v1/me', headers: { authorization: `Bearer ${token}` } })).json();
  assert.deepEqual([me.id, me.display_name, me.scope], [id, 'Trial', allScopes.join(' ')]);
  assert.doesNotMatch((await visitor.get(path)).body, /njr_|eyJhbGci/, 'shown once');
  const creators = textOf((await visitor.get(`/developers/apps/${clientId}/creators`)).body);
  const [real = '', own = ''] = creators.split('Creators of your own');
  assert.doesNotMatch(real, /Trial/);
  assert.match(own, /Trial @sandbox_\w+ Sandbox/);
  const narrow = await visitor.post(`${path}/connect`, { client_id: clientId, 'scope.tips.read': 'on' });
  assert.equal(narrow.statusCode, 201);
  assert.equal((await runtime.grants.connections(id))[0]?.scope, 'tips.read');
  await visitor.post(`${path}/disconnect`, { client_id: clientId });
  assert.deepEqual(await runtime.grants.connections(id), []);
});

test('another developer’s sandbox creator or app is not found, and strangers sign in first', async (t) => {
  const app = await setup(t);
  const { path, client, runtime, visitor, id } = app;
  const other = await makeCreator(runtime);
  const foreign = await makeApp(runtime, 'Foreign', other.creatorId);
  const stranger = await signedInVisitor(app, other.creatorId);
  const record = { creatorId: id, app: null, amount: 5, name: 'SOMCHAI', displayName: null, message: null };
  await runtime.tips.record(record);
  const traced = /href="([^"]+\/trace\/evt_\w+)"/.exec((await visitor.get(path)).body)?.[1] ?? '';
  const trace = await visitor.get(traced);
  assert.equal(trace.statusCode, 200);
  assert.match(textOf(trace.body), /no overlay/i);
  await runtime.tips.record({ ...record, creatorId: other.creatorId });
  const [theirs] = await runtime.events.after(other.creatorId, 0, 1);
  const foreignEvent = `${path}/trace/${JSON.parse(theirs?.body ?? '').id}`;
  assert.equal((await visitor.get(foreignEvent)).statusCode, 404);
  for (const url of [path, `${path}/happened`, traced]) assert.equal((await stranger.get(url)).statusCode, 404, url);
  const json = '{"type":"tip.created","amount":1,"name":"AB"}';
  for (const [action, fields] of Object.entries({
    name: { name: 'Mine' },
    remove: {},
    connect: { client_id: foreign.clientId, ...ticked },
    disconnect: { client_id: foreign.clientId },
    address: {},
    choices: {},
    send: { json },
  }))
    assert.equal((await stranger.post(`${path}/${action}`, fields)).statusCode, 404, action);
  const mixed = await visitor.post(`${path}/connect`, { client_id: foreign.clientId, ...ticked });
  assert.equal(mixed.statusCode, 404);
  // A real creator is no sandbox creator, not even one's own account.
  for (const url of [`${home}/${other.creatorId}`, `${home}/${app.developer.creatorId}`])
    assert.equal((await visitor.get(url)).statusCode, 404);
  const anonymous = createVisitor(app);
  assert.match(String((await anonymous.get(path)).headers.location), /^\/login/);
  assert.deepEqual(await runtime.grants.connections(id), []);
  assert.equal((await runtime.tips.stats(id)).all_time.count, 1);
  assert.ok(client);
});

test('tokens and the overlay’s address need a recent sign-in', async (t) => {
  const { visitor, path, client, clock } = await setup(t);
  clock.advance(11 * 60_000);
  for (const [action, fields] of [
    ['connect', { client_id: client.clientId, ...ticked }],
    ['address', {}],
  ] as const)
    assert.match(String((await visitor.post(`${path}/${action}`, fields)).headers.location), /^\/login/, action);
});

test('its overlay can be opened, and hold, pause and smallest amount are chosen there', async (t) => {
  const { visitor, path, http, id, runtime } = await setup(t);
  assert.doesNotMatch((await visitor.get(path)).body, /njo_/);
  const key = /\/overlay\/(njo_\w+)/.exec((await visitor.post(`${path}/address`)).body)?.[1];
  assert.equal((await http.inject({ url: `/overlay/${key}` })).statusCode, 200);
  await visitor.post(`${path}/choices`, { hold_all: 'on', paused: 'on', minimum: '20' });
  const { paused, settings } = await runtime.overlays.get(id);
  assert.deepEqual([paused, settings.minimumMinor], [true, 2000]);
  assert.equal((await runtime.screening.get(id)).hold.everything, true);
  const wrong = await visitor.post(`${path}/choices`, { minimum: 'much' });
  assert.equal(wrong.statusCode, 422);
  assert.equal((await runtime.overlays.get(id)).paused, true, 'nothing was changed');
  await visitor.post(`${path}/choices`, { minimum: '' });
  assert.equal((await runtime.overlays.get(id)).paused, false);
  assert.equal((await runtime.screening.get(id)).hold.everything, false);
});

test('what is chosen for its overlay counts as a change of its screening, 30 a minute', async (t) => {
  const { visitor, path, id, runtime } = await setup(t);
  const choose = async (hold_all: string) =>
    (await visitor.post(`${path}/choices`, { hold_all, minimum: '' })).statusCode;
  for (let i = 0; i < 30; i++) assert.equal(await choose(''), 303);
  assert.equal(await choose('on'), 429);
  assert.equal((await runtime.screening.get(id)).hold.everything, false);
});

test('both languages have the pages', async (t) => {
  const { visitor, path } = await setup(t);
  for (const url of [home, path]) assert.match((await visitor.get(`${url}?lang=th`)).body, /ครีเอเตอร์ทดลอง|คอนโซล/, url);
});

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { until } from '../../../../sdk/test/until.ts';
import { buildApp, onNodes } from '../../../test/build-app.ts';
import { makeCreator } from '../../../test/factories.ts';
import { makeKey, openProgram } from '../../../test/programs.ts';
import { startReceiver } from '../../../test/receiver.ts';
import { listen } from '../../../test/sockets.ts';
import { signedInVisitor } from '../../../test/visitor.ts';
import { buildWebhooks } from '../../../test/webhooks.ts';
import { dialects } from './dialects/index.ts';

const home = '/dashboard/connections';
const dayMs = 86_400_000;

/** A creator with a receiver inside the ranges that the operator opened. */
async function setup(t: TestContext) {
  const app = await buildWebhooks(t);
  const { creatorId } = await makeCreator(app.runtime);
  const visitor = await signedInVisitor(app, creatorId);
  const receiver = await startReceiver(t);
  receiver.answer = (response) => response.writeHead(204).end();
  const list = () => app.runtime.connections.list(creatorId);
  /** Adds a connection as a creator would, and returns the path of its page. */
  async function add(kind: 'discord' | 'kofi', fields: Record<string, string> = {}): Promise<string> {
    const answer = await visitor.post(`${home}/new/${kind}`, { url: receiver.url, ...fields });
    assert.equal(answer.statusCode, 303, answer.body);
    return String(answer.headers.location);
  }
  return { ...app, creatorId, visitor, receiver, list, add, tip: () => app.tip(creatorId) };
}

test('a creator connects Discord, sends a test and reads what came back', async (t) => {
  const { visitor, add, receiver, worker, tip, clock } = await setup(t);
  assert.match((await visitor.get(home)).body, /No connection yet/);
  assert.match((await visitor.get(`${home}/new/discord`)).body, /Server Settings → Integrations → Webhooks/);
  const path = await add('discord', {
    url: `${receiver.url}secret-of-the-hook`,
    label: 'My <b>server',
    minAmount: '50',
  });
  const added = await visitor.get(path);
  assert.match(added.body, /The connection is added/);
  assert.match(added.body, /My &#60;b&#62;server/);
  assert.match(added.body, /…hook/);
  assert.match(added.body, /฿50\.00/);
  await visitor.post(`${path}/test`);
  await worker.pass();
  clock.advance(1000);
  await tip();
  await worker.pass();
  assert.equal(receiver.requests.length, 2);
  const page = await visitor.get(path);
  assert.match(page.body, /Tip<[\s\S]*Arrived[\s\S]*204 after \d+ ms[\s\S]*Test<[\s\S]*Arrived/);
  for (let i = 0; i < 10; i++) await visitor.post(`${path}/test`);
  assert.match((await visitor.get(path)).body, /That was a little too often/);
  for (const { body } of [added, page, await visitor.get(home)]) assert.doesNotMatch(body, /secret-of/);
});

test('what cannot be used is refused beside its field, in the reader’s language, and kept', async (t) => {
  const { visitor, list } = await setup(t);
  const post = (fields: Record<string, string>, headers = {}) => visitor.post(`${home}/new/discord`, fields, headers);
  const other = await post({ url: 'https://93.184.216.34/api/webhooks/1/x', label: 'kept', minAmount: '20' });
  assert.equal(other.statusCode, 422);
  assert.match(other.body, /This is no webhook address of Discord/);
  assert.match(other.body, /value="kept"/);
  assert.match(other.body, /value="20"/);
  assert.match((await post({ url: 'https://10.0.0.1/hook' })).body, /The address must be public/);
  for (const url of ['', 'discord'])
    assert.match((await post({ url })).body, /This is no webhook address of Discord\. It looks like/);
  assert.match((await visitor.post(`${home}/new/kofi`, { url: 'bot' })).body, /Write a full address/);
  assert.match((await post({ url: 'ftp://x' }, { 'accept-language': 'th' })).body, /ที่อยู่ต้องขึ้นต้นด้วย https/);
  const wrong = await post({ url: 'https://discord.com/api/webhooks/1/x', label: 'x'.repeat(61), minAmount: 'much' });
  assert.match(wrong.body, /Write at most 60 characters/);
  assert.match(wrong.body, /Write an amount such as/);
  assert.equal((await post({ url: 'https://discord.com/api/webhooks/1/x', minAmount: '99999999' })).statusCode, 422);
  assert.equal((await visitor.post(`${home}/new/fax`, { url: 'https://x.example' })).statusCode, 404);
  assert.deepEqual(await list(), []);
});

test('Discord’s 404 switches the connection off; page, list and dashboard say so; another address switches it on', async (t) => {
  const { visitor, add, receiver, worker, tip, list } = await setup(t);
  const path = await add('discord', { label: 'Channel' });
  assert.doesNotMatch((await visitor.get('/dashboard')).body, /switched off/);
  receiver.answer = (response) => response.writeHead(404).end('{"message": "Unknown Webhook", "code": 10015}');
  await tip();
  await worker.pass();
  const page = await visitor.get(path);
  assert.match(page.body, /Discord answered that this webhook no longer exists/);
  assert.match(page.body, /make a new webhook/);
  assert.match(page.body, /Unknown Webhook/);
  assert.match((await visitor.get(home)).body, /Channel was switched off/);
  const dashboard = await visitor.get('/dashboard');
  assert.match(dashboard.body, new RegExp(`Channel was switched off[\\s\\S]*href="${path}"`));
  assert.match((await visitor.get('/dashboard', { 'accept-language': 'th' })).body, /Channel ถูกปิด/);

  await visitor.post(path, { url: '', label: 'Renamed', minAmount: '' });
  assert.equal((await list())[0]?.enabled, false, 'a new name does not switch it on');
  receiver.answer = (response) => response.writeHead(204).end();
  await visitor.post(path, { url: `${receiver.url}new-hook`, label: 'Renamed', minAmount: '' });
  assert.equal((await list())[0]?.enabled, true);
  assert.match((await visitor.get(path)).body, /switched on again/);
  await tip();
  await worker.pass();
  assert.match(receiver.requests.at(-1)?.path ?? '', /new-hook/);
  assert.doesNotMatch((await visitor.get('/dashboard')).body, /switched off/);
});

test('five days without an arrival switch a connection off; a day before the page warns', async (t) => {
  const { creatorId, add, receiver, worker, tip, clock, ...app } = await setup(t);
  const path = await add('kofi');
  receiver.answer = (response) => response.writeHead(500).end('out of order');
  await tip();
  await worker.pass();
  const pageAfter = async (ms: number, lang = 'en') => {
    clock.advance(ms);
    await app.runtime.webhooks.disableFailing();
    return (await (await signedInVisitor(app, creatorId)).get(path, { 'accept-language': lang })).body;
  };
  assert.doesNotMatch(await pageAfter(3 * dayMs), /has arrived for/);
  assert.match(await pageAfter(1.5 * dayMs), /Nothing has arrived for four days/);
  assert.match(
    await pageAfter(dayMs),
    /for five days, so the connection was switched off[\s\S]*Look at the last answers/,
  );
  assert.match(await pageAfter(0, 'th'), /ไม่มีข้อความใดไปถึงเป็นเวลาห้าวัน/);
});

test('what does not arrive is seen at once: in the list, on its page, and until it arrives', async (t) => {
  const { visitor, add, receiver, worker, clock } = await setup(t);
  const path = await add('kofi');
  await visitor.post(`${path}/test`);
  assert.match((await visitor.get(path)).body, />On its way<[\s\S]*no answer yet/);
  receiver.answer = (response) => response.writeHead(401).end('wrong token');
  await worker.pass();
  const page = (await visitor.get(path)).body;
  assert.match(page, /Nothing has arrived since[\s\S]*>Trying again<[\s\S]*401 after[\s\S]*wrong token/);
  assert.match((await visitor.get(home)).body, />Not arriving</);
  receiver.answer = (response) => response.writeHead(204).end();
  const retry = /\/deliveries\/dlv_\w+\/retry/.exec(page)?.[0];
  clock.advance(1000);
  await visitor.post(`${path}${retry}`);
  await worker.pass();
  assert.equal(receiver.requests.length, 2, 'nobody has to wait for the next attempt');
  assert.match((await visitor.get(path)).body, />On<[\s\S]*>Arrived</);
});

test('a message about a tip leads to the tip', async (t) => {
  const { runtime, clock, visitor, add, creatorId, worker } = await setup(t);
  const path = await add('discord');
  clock.advance(1000);
  const fields = { amount: 20, name: 'SOMCHAI', displayName: null, message: null };
  const { tip } = await runtime.tips.record({ creatorId, app: null, ...fields });
  await worker.pass();
  assert.ok((await visitor.get(path)).body.includes(`href="/dashboard/tips/${tip.id}"`));
});

test('a kind that has no tests gets none: to its receiver it would be a tip', async (t) => {
  const { visitor, add, receiver, worker } = await setup(t);
  const path = await add('kofi');
  assert.match((await visitor.get(path)).body, />Send a test</);
  t.mock.property(dialects.kofi, 'treatments', ['tip']);
  assert.doesNotMatch((await visitor.get(path)).body, />Send a test</);
  await visitor.post(`${path}/test`);
  await worker.pass();
  assert.equal(receiver.requests.length, 0);
});

test('it is paused, switched on, changed and removed; an empty field keeps its secret', async (t) => {
  const { visitor, add, receiver, worker, tip, list } = await setup(t);
  const path = await add('kofi', { token: 'first-token' });
  await visitor.post(`${path}/pause`);
  assert.match((await visitor.get(path)).body, /It is paused/);
  await tip();
  await worker.pass();
  assert.equal(receiver.requests.length, 0);
  const skipped = await visitor.get(path);
  assert.match(skipped.body, /Skipped/);
  assert.doesNotMatch(skipped.body, /Send again/, 'not while it is paused');
  await visitor.post(`${path}/test`);
  assert.match((await visitor.get(path)).body, /The connection is off, so no test was sent/);
  await visitor.post(`${path}/resume`);
  const retry = /action="([^"]+\/retry)"/.exec((await visitor.get(path)).body)?.[1];
  assert.equal((await visitor.post(retry ?? '')).headers.location, path);
  await worker.pass();
  const tokenOf = (body = '') => JSON.parse(new URLSearchParams(body).get('data') ?? '{}').verification_token;
  assert.equal(tokenOf(receiver.requests[0]?.body), 'first-token');

  await visitor.post(path, { label: '', url: '', token: '', minAmount: '100' });
  await tip();
  await worker.pass();
  assert.equal(receiver.requests.length, 1, 'below the smallest amount');
  for (const token of ['', 'second']) {
    await visitor.post(path, { label: '', url: '', token, minAmount: '' });
    await tip();
    await worker.pass();
    assert.equal(tokenOf(receiver.requests.at(-1)?.body), token || 'first-token');
  }
  assert.equal(receiver.requests.length, 3);
  await visitor.post(`${path}/remove`);
  assert.deepEqual(await list(), []);
  assert.equal((await visitor.get(path)).statusCode, 404);
});

test('nobody reaches the connection of another, and no form works without the token of its session', async (t) => {
  const { add, runtime, http, visitor, list } = await setup(t);
  const path = await add('kofi');
  const other = await signedInVisitor({ http, runtime }, (await makeCreator(runtime)).creatorId);
  assert.equal((await other.get(path)).statusCode, 404);
  for (const end of ['', '/test', '/pause', '/resume', '/remove'])
    assert.equal((await other.post(path + end, { url: '', minAmount: '' })).statusCode, 404, end);
  for (const end of ['', '/test', '/pause', '/remove'])
    assert.equal((await visitor.post(path + end, { csrf: '' })).statusCode, 403, end);
  assert.equal((await visitor.post(`${home}/keys`, { csrf: '', name: 'x' })).statusCode, 403);
  assert.equal((await list())[0]?.enabled, true);
});

test('a creator has ten connections at most', async (t) => {
  const { add, visitor, receiver, list } = await setup(t);
  for (let i = 0; i < 10; i++) await add('kofi');
  const answer = await visitor.post(`${home}/new/kofi`, { url: receiver.url });
  assert.equal(answer.statusCode, 422);
  assert.match(answer.body, /at most 10 connections/);
  assert.equal((await list()).length, 10);
});

const keyIn = (body: string) => /njk_[A-Za-z0-9]{43}/.exec(body)?.[0];

test('a stream key is shown by the answer that made it, after a recent sign-in, and is revoked', async (t) => {
  const { visitor, runtime, creatorId, clock } = await setup(t);
  const path = `${home}/keys`;
  const wrong = await visitor.post(path, { name: '', minimum: 'much' });
  assert.equal(wrong.statusCode, 422);
  assert.match(wrong.body, /Write 1 to 60 characters/);
  assert.match(wrong.body, /Write an amount/);
  const made = await visitor.post(path, { name: 'OBS <b>', minimum: '20' });
  assert.deepEqual([made.statusCode, made.headers['cache-control']], [201, 'no-store']);
  const key = keyIn(made.body);
  assert.ok(key);
  assert.ok(made.body.includes(`${runtime.config.baseUrl}?token&#61;${key}`), 'the whole address');
  const listed = await visitor.get(home);
  assert.equal(keyIn(listed.body), undefined);
  assert.match(listed.body, /OBS &#60;b&#62;[\s\S]*never used · from ฿20\.00[\s\S]*Not connected/);
  const [row] = await runtime.streamKeys.list(creatorId);
  assert.equal((await runtime.streamKeys.find(key))?.id, row?.id);
  await visitor.post(`${path}/${row?.id}/revoke`);
  assert.equal(await runtime.streamKeys.find(key), undefined);
  assert.match((await visitor.get(home)).body, /No stream key yet/);
  const again = await visitor.get(`${path}?lang=en`);
  assert.deepEqual([again.statusCode, again.headers.location], [303, `${home}#stream-keys`], 'loaded again');

  for (let i = 0; i < 10; i++) await visitor.post(path, { name: `key ${i}` });
  assert.match((await visitor.post(path, { name: 'one more' })).body, /at most 10 stream keys/);
  clock.advance(11 * 60_000);
  const late = await visitor.post(path, { name: 'late' });
  assert.match(String(late.headers.location), /^\/login\?/, 'a key needs a recent sign-in');
});

test('a key that is connected at one node is shown as connected at every node', {
  skip: !onNodes && 'one process has no other nodes',
}, async (t) => {
  const app = await listen(t);
  const other = await buildApp(t, app.env);
  const { creatorId } = await makeCreator(app.runtime);
  const program = await openProgram(t, app, await makeKey(app, creatorId));
  const visitor = await signedInVisitor(other, creatorId);
  const isShown = async (words: RegExp) => words.test((await visitor.get(home)).body);
  assert.ok(await isShown(/>Connected</));
  program.close();
  await until('it is shown that the program has gone', () => isShown(/>Not connected</));
});

test('a key of a node that died is soon shown as not connected; one that lives says so again', {
  skip: !onNodes && 'one process has no other nodes',
}, async (t) => {
  const app = await listen(t);
  const other = await buildApp(t, app.env);
  const { creatorId } = await makeCreator(app.runtime);
  await openProgram(t, app, await makeKey(app, creatorId));
  const visitor = await signedInVisitor(other, creatorId);
  const isConnected = async () => />Connected</.test((await visitor.get(home)).body);
  other.clock.advance(20_000);
  assert.ok(await isConnected(), 'a node may be silent for a while');
  other.clock.advance(20_000);
  assert.ok(!(await isConnected()), 'it counts as dead');
  app.clock.advance(40_000);
  await until('the node has said again that it has the key', isConnected);
});

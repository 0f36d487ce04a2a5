import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { io } from 'socket.io-client';
import { until } from '../../../sdk/test/until.ts';
import { sampleEvent, sampleRecipient } from '../../src/features/connections/dialects/dialect.ts';
import { kofi } from '../../src/features/connections/dialects/kofi.ts';
import { makeCreator } from '../factories.ts';
import { streamelements } from '../fixtures/streamelements.ts';
import { makeKey } from '../programs.ts';
import { listen } from '../sockets.ts';
import { signedInVisitor } from '../visitor.ts';

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');

/** The fixture as it would stand among the dialects, where its imports are sorted the other way round. */
const inPlace = read('../fixtures/streamelements.ts')
  .replace(/(?:^import .*\n)+/m, (imports) => `${imports.trimEnd().split('\n').reverse().join('\n')}\n`)
  .replace('../../src/features/connections/dialects/', './')
  .replace('../../src/features/webhooks/', '../../webhooks/')
  .replace('../../src/platform/', '../../../platform/');

for (const guide of ['connections.md', 'connections.th.md'])
  test(`the dialect of ${guide} is the one that is tried here`, () => {
    const [, code] = /```ts\n([\s\S]*?)```/.exec(read(`../../../docs/${guide}`)) ?? [];
    assert.equal(code, inPlace);
    assert.ok(inPlace.split('\n').length < 100);
  });

test('the dialect of the guide writes its sample, and takes only addresses of StreamElements', () => {
  assert.deepEqual(streamelements.write(sampleEvent, sampleRecipient), streamelements.sample);
  const isAddress = (text: string) => streamelements.isAddress(new URL(text));
  assert.ok(isAddress('https://api.streamelements.com/kappa/v2/tips/5a5d2bee6f08520001e45a29'));
  assert.ok(!isAddress('https://api.streamelements.com.evil.example/kappa/v2/tips/5a5d2bee6f08520001e45a29'));
  assert.ok(!isAddress('https://api.streamelements.com/kappa/v2/users/current'));
  assert.ok(!isAddress('http://api.streamelements.com/kappa/v2/tips/5a5d2bee6f08520001e45a29'));
});

test('the guide shows the fields of the Ko-fi format as they are sent', () => {
  const [, shown = ''] = /```json\n([\s\S]*?)```/.exec(read('../../../docs/connections.md')) ?? [];
  const sent = JSON.parse(new URLSearchParams(kofi.sample.body).get('data') ?? '');
  const types = (fields: object) => Object.entries(fields).map(([name, value]) => `${name}: ${typeof value}`);
  assert.deepEqual(types(JSON.parse(shown)), types(sent));
});

test('the program of the guide prints a tip; meanwhile the page says that its key is connected', async (t) => {
  const app = await listen(t);
  const { creatorId } = await makeCreator(app.runtime);
  const visitor = await signedInVisitor(app, creatorId);
  const page = async () => (await visitor.get('/dashboard/connections')).body;
  const [used, unused] = [await makeKey(app, creatorId), await makeKey(app, creatorId)];
  assert.equal((await page()).match(/Not connected/g)?.length, 2);
  const [, code = ''] = /```js\n([\s\S]*?)```/.exec(read('../../../docs/connections.md')) ?? [];
  const program = code.replace('http://localhost:8080', `http://${app.address}`).replace('njk_…', used);
  const printed: unknown[][] = [];
  const log = (...words: unknown[]) => printed.push(words);
  const socket = new Function('io', 'console', `${program}\nreturn socket;`)(io, { log });
  t.after(() => socket.close());
  await until('it is connected', () => socket.connected);
  const tip = { creatorId, app: null, amount: 20, name: 'SOMCHAI', displayName: null, message: 'hello' };
  await app.runtime.tips.record(tip);
  await until('it has printed', () => printed.length > 0);
  assert.deepEqual(printed, [['SOMCHAI', '฿20.00', 'hello']]);

  const shown = await page();
  assert.match(shown, /last used[\s\S]*badge ok">Connected</);
  assert.match(shown, /never used[\s\S]*Not connected/);
  assert.ok(!shown.includes(used) && !shown.includes(unused));
  socket.close();
  await until('the page says that it has gone', async () => (await page()).match(/Not connected/g)?.length === 2);
});

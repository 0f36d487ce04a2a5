import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../../../test/build-app.ts';
import { makeCreator } from '../../../test/factories.ts';
import { signedInVisitor } from '../../../test/visitor.ts';
import { starterLists } from './starter-lists.ts';

const home = '/dashboard/screening';

test('starter lists are taken over, changed and deleted', async (t) => {
  const app = await buildApp(t);
  const { creatorId } = await makeCreator(app.runtime);
  const visitor = await signedInVisitor(app, creatorId);
  const rules = () => app.runtime.screening.get(creatorId);
  assert.match((await visitor.get(home)).body, /may not know of holding yet/);
  await visitor.post(`${home}/lists/add/english`);
  await visitor.post(`${home}/lists/add/thai`);
  const [english, thai] = (await rules()).lists;
  assert.deepEqual([english?.words, thai?.except], [starterLists.english.words, starterLists.thai.except]);
  const fields = {
    title: 'Mine',
    words: 'darn\r\n\r\nheck\ndarn',
    except: 'darning',
    match: 'anywhere',
    action: 'hold',
  };
  const saved = await visitor.post(`${home}/lists/${english?.id}`, fields);
  assert.equal(saved.statusCode, 303);
  assert.deepEqual((await rules()).lists[0], {
    id: english?.id,
    title: 'Mine',
    words: ['darn', 'heck'],
    except: ['darning'],
    match: 'anywhere',
    action: 'hold',
  });
  const bad = await visitor.post(`${home}/lists/${english?.id}`, {
    ...fields,
    title: '',
    words: 'x\nfine',
    action: 'eat',
  });
  assert.equal(bad.statusCode, 422);
  assert.match(bad.body, /These cannot be used[^<]*: x/);
  assert.match(bad.body, /Choose one of the list/);
  assert.equal((await rules()).lists[0]?.title, 'Mine', 'nothing is saved');
  const again = await visitor.post(`${home}/lists/add/english`);
  assert.match(String(again.headers.location), /#list-/);
  assert.deepEqual((await rules()).lists[0]?.words, ['darn', 'heck'], 'as it was changed');
  assert.equal((await rules()).lists.length, 2, 'a starter list is taken over once');
  assert.doesNotMatch((await visitor.get(home)).body, /lists\/add\/(english|thai)/);
  await visitor.post(`${home}/lists/${thai?.id}/remove`);
  assert.equal((await rules()).lists.length, 1);
  assert.match((await visitor.get(home)).body, /lists\/add\/thai/);
  for (let i = 0; i < 12; i++) await visitor.post(`${home}/lists/add/empty`);
  assert.equal((await rules()).lists.length, 10);
});

test('what to hold, blocked names, and the box to try a text', async (t) => {
  const app = await buildApp(t);
  const { creatorId } = await makeCreator(app.runtime);
  const visitor = await signedInVisitor(app, creatorId);
  for (const fromAmount of ['much', '1,5', '1,2,3']) {
    const wrong = await visitor.post(`${home}/hold`, { fromAmount, links: 'mask', numbers: 'allow' });
    assert.equal(wrong.statusCode, 422, fromAmount);
  }
  await visitor.post(`${home}/hold`, { fromAmount: '1,000', links: 'mask', numbers: 'hide' });
  await visitor.post(`${home}/names`, { names: 'Troll\n' });
  const rules = await app.runtime.screening.get(creatorId);
  assert.deepEqual(rules.hold, { everything: false, newNames: false, fromMinor: 100_000 });
  assert.deepEqual([rules.links, rules.numbers, rules.blockedNames], ['mask', 'hide', ['Troll']]);
  const tried = async (fields: Record<string, string>) =>
    (await visitor.post(`${home}/try`, { tryAmount: '100', ...fields })).body;
  assert.match(await tried({ tryMessage: 'see evil.com' }), /see \*{8}/);
  assert.match(await tried({ tryMessage: 'hello' }), /No rule applies/);
  assert.match(await tried({ tryName: 'troll' }), /The name is blocked/);
  assert.match(await tried({ tryAmount: '1000' }), /Held until you approve it/);
  assert.match(await tried({ tryMessage: '<b>08123456789</b>' }), /The message is hidden/);
  assert.equal((await visitor.post(`${home}/try`, { tryAmount: '0' })).statusCode, 422);
  assert.equal((await app.runtime.events.head(creatorId))?.sequence, 0, 'nothing is sent');
});

test('another creator’s lists are not there', async (t) => {
  const app = await buildApp(t);
  const [mali, nok] = [await makeCreator(app.runtime), await makeCreator(app.runtime)];
  await (await signedInVisitor(app, mali.creatorId)).post(`${home}/lists/add/empty`);
  const [list] = (await app.runtime.screening.get(mali.creatorId)).lists;
  const visitor = await signedInVisitor(app, nok.creatorId);
  await visitor.post(`${home}/lists/${list?.id}`, {
    title: 'x',
    words: '',
    except: '',
    match: 'words',
    action: 'hide',
  });
  await visitor.post(`${home}/lists/${list?.id}/remove`);
  assert.deepEqual((await app.runtime.screening.get(mali.creatorId)).lists, [list]);
  assert.deepEqual((await app.runtime.screening.get(nok.creatorId)).lists, []);
});

test('the long forms of strangers are not read', async (t) => {
  const { http, runtime } = await buildApp(t);
  const headers = { origin: runtime.config.authUrl, 'content-type': 'application/x-www-form-urlencoded' };
  for (const path of ['names', 'lists/any']) {
    const payload = 'a'.repeat(2_000_000);
    const { statusCode, headers: got } = await http.inject({
      method: 'POST',
      url: `${home}/${path}`,
      headers,
      payload,
    });
    assert.deepEqual([statusCode, String(got.location).startsWith('/login')], [303, true], path);
  }
});

test('lists that would take long to read and to compile are refused, and forms are counted before they are read', async (t) => {
  const app = await buildApp(t);
  const { creatorId } = await makeCreator(app.runtime);
  const visitor = await signedInVisitor(app, creatorId);
  await visitor.post(`${home}/lists/add/empty`);
  const [list] = (await app.runtime.screening.get(creatorId)).lists;
  const save = (words: string) =>
    visitor.post(`${home}/lists/${list?.id}`, { title: 'x', words, except: '', match: 'words', action: 'hide' });
  // One character that is read as eighteen letters, and more lines than words.
  const long = Array.from({ length: 60 }, (_, i) => `${i}${'\ufdfa'.repeat(50)}`).join('\n');
  for (const words of [
    long,
    `fine${'\n'.repeat(20_000)}`,
    Array.from({ length: 2_001 }, (_, i) => `w${i}`).join('\n'),
  ]) {
    const { statusCode, body } = await save(words);
    assert.equal(statusCode, 422);
    assert.match(body, /at most 2,?000 words and 50,?000 letters/);
  }
  assert.deepEqual((await app.runtime.screening.get(creatorId)).lists[0]?.words, []);
  assert.equal((await visitor.post(`${home}/names`, { names: long })).statusCode, 422);
  const statuses = new Set<number>();
  for (let i = 5; i < 30; i++) statuses.add((await save(`word ${i}`)).statusCode);
  assert.deepEqual([...statuses], [303]);
  assert.equal((await save('one more')).statusCode, 429);
  assert.deepEqual((await app.runtime.screening.get(creatorId)).lists[0]?.words, ['word 29']);
});

test('every form that changes rules counts, and holding new names as five', async (t) => {
  const app = await buildApp(t);
  const { creatorId } = await makeCreator(app.runtime);
  const visitor = await signedInVisitor(app, creatorId);
  const hold = async (newNames: string) =>
    (await visitor.post(`${home}/hold`, { newNames, fromAmount: '', links: 'allow', numbers: 'allow' })).statusCode;
  const statuses: number[] = [];
  for (let i = 0; i < 4; i++) statuses.push(await hold('1'), await hold(''));
  for (const path of ['lists/add/thai', 'lists/thai/remove', 'names'])
    statuses.push((await visitor.post(`${home}/${path}`, { names: '' })).statusCode);
  assert.deepEqual(new Set(statuses), new Set([303]));
  assert.equal(await hold('1'), 429, 'three are left');
  assert.deepEqual([await hold(''), await hold('')], [303, 303]);
  for (const path of ['hold', 'lists/add/thai', 'lists/thai/remove', 'names', 'lists/thai'])
    assert.equal((await visitor.post(`${home}/${path}`)).statusCode, 429, path);
  assert.equal((await app.runtime.screening.get(creatorId)).hold.newNames, false);
  assert.equal((await visitor.post(`${home}/try`, { tryAmount: '1' })).statusCode, 200);
});

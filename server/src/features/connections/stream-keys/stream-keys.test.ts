import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../../../../test/build-app.ts';
import { makeCreator } from '../../../../test/factories.ts';
import { maxStreamKeys, StreamKeyExists } from './service.ts';

test('a key is shown once, stored as a hash, and found by nothing but itself', async (t) => {
  const { runtime, clock } = await buildApp(t);
  const { creatorId, username } = await makeCreator(runtime);
  const key = await runtime.streamKeys.make(creatorId, { label: 'A bot', minimumMinor: 2000 });
  assert.match(key ?? '', /^njk_[A-Za-z0-9]{43}$/);
  const [listed] = await runtime.streamKeys.list(creatorId);
  const row = { label: 'A bot', minimum_minor: 2000, last_used_at: null, created_at: clock() };
  assert.deepEqual(listed, { id: listed?.id, ...row });
  assert.match(listed?.id ?? '', /^key_/);
  const rows = await runtime.db.all('SELECT * FROM stream_keys');
  assert.ok(!JSON.stringify(rows).includes((key ?? '').slice(4)));
  const found = { id: listed?.id, creatorId, creatorName: username, minimumMinor: 2000 };
  assert.deepEqual(await runtime.streamKeys.find(key ?? ''), found);
  for (const wrong of ['', `${key} `, `${key}\n`, key?.slice(1) ?? '', listed?.id ?? ''])
    assert.equal(await runtime.streamKeys.find(wrong), undefined);
});

test('a creator has ten keys at most, also when more are made at once', async (t) => {
  const { runtime } = await buildApp(t);
  const { creatorId } = await makeCreator(runtime);
  const made = await Promise.all(
    Array.from({ length: maxStreamKeys + 5 }, () => runtime.streamKeys.make(creatorId, { label: '' })),
  );
  assert.equal(made.filter((key) => key !== undefined).length, maxStreamKeys);
  const [first] = await runtime.streamKeys.list(creatorId);
  assert.equal(await runtime.streamKeys.revoke(creatorId, first?.id ?? ''), true);
  assert.notEqual(await runtime.streamKeys.make(creatorId, { label: '' }), undefined);
});

test('a form that is sent twice makes one key', async (t) => {
  const { runtime } = await buildApp(t);
  const { creatorId } = await makeCreator(runtime);
  const id = runtime.newId('key');
  await runtime.streamKeys.make(creatorId, { label: '' }, id);
  await assert.rejects(runtime.streamKeys.make(creatorId, { label: '' }, id), StreamKeyExists);
  assert.equal((await runtime.streamKeys.list(creatorId)).length, 1);
});

test('security 23: another creator can neither see nor revoke a key', async (t) => {
  const { runtime } = await buildApp(t);
  const { creatorId } = await makeCreator(runtime);
  const other = await makeCreator(runtime);
  const key = await runtime.streamKeys.make(creatorId, { label: '' });
  const [{ id } = { id: '' }] = await runtime.streamKeys.list(creatorId);
  assert.deepEqual(await runtime.streamKeys.list(other.creatorId), []);
  assert.equal(await runtime.streamKeys.revoke(other.creatorId, id), false);
  assert.notEqual(await runtime.streamKeys.find(key ?? ''), undefined);
});

test('the key of a suspended creator is none', async (t) => {
  const { runtime } = await buildApp(t);
  const { creatorId } = await makeCreator(runtime);
  const key = (await runtime.streamKeys.make(creatorId, { label: '' })) ?? '';
  await runtime.grants.suspend('creator', creatorId, runtime.clock());
  assert.equal(await runtime.streamKeys.find(key), undefined);
  await runtime.grants.suspend('creator', creatorId, null);
  assert.notEqual(await runtime.streamKeys.find(key), undefined);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../../../test/build-app.ts';
import { makeCreator } from '../../../test/factories.ts';
import { PageError } from '../../platform/web/page-error.ts';
import { createDrawings } from './drawings.ts';

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const profile = { displayName: 'Zaphod', bio: '', socialLinks: [], channels: [], channelDetails: {} };

test('security 42: who asks for the pictures of many pages takes no place from uploads and from others', async (t) => {
  const { http, runtime } = await buildApp(t);
  const creators = await Promise.all(Array.from({ length: 12 }, () => makeCreator(runtime)));
  for (const { creatorId } of creators)
    await runtime.profiles.update(creatorId, { ...profile, pageLook: 'plain', pagePublic: true });
  const [first, ...others] = creators.map(({ username }) => `/@${username}/card.png`);
  const ask = async (url = '', remoteAddress = '192.0.2.1') => (await http.inject({ url, remoteAddress })).statusCode;
  const asked = others.map((url) => ask(url));
  // The queue is full as soon as one is refused.
  assert.equal(await Promise.race(asked), 429);
  const [uploaded, drawn] = await Promise.allSettled([
    runtime.profiles.setAvatar(creators[0]?.creatorId ?? '', png),
    ask(first, '198.51.100.7'),
  ]);
  assert.deepEqual([uploaded.status, drawn], ['fulfilled', { status: 'fulfilled', value: 200 }]);
  assert.deepEqual([...new Set(await Promise.all(asked))].sort(), [200, 429]);
});

test('security 42: a picture is drawn once and kept; an address has so many drawn in a minute', async (t) => {
  const { runtime } = await buildApp(t);
  const drawings = createDrawings<string>(runtime.limiter, 10);
  const drawn: string[] = [];
  const ask = (key: string, address = '192.0.2.1') =>
    drawings.get(key, address, async (network) => {
      drawn.push(`${network} ${key}`);
      return key;
    });
  const refused = (error: unknown) => error instanceof PageError && error.status === 429;
  await Promise.all(Array.from({ length: 200 }, () => ask('same')));
  for (let i = 0; i < 200; i++) await ask('same', `198.51.100.${i}`);
  assert.deepEqual(drawn, ['192.0.2.1 same']);
  for (let i = 1; i < 120; i++) assert.equal(await ask(`k${i}`), `k${i}`);
  await assert.rejects(ask('one more'), refused);
  await assert.rejects(ask('same'), refused, 'not among the ten that were asked for last');
  assert.equal(await ask('k119'), 'k119', 'kept');
  const [own, theirs] = await Promise.allSettled([ask('one more'), ask('one more', '198.51.100.7')]);
  assert.deepEqual([own.status, theirs.status], ['rejected', 'fulfilled']);
  assert.equal(drawn.length, 121);
  assert.equal(await ask('one more'), 'one more');
});

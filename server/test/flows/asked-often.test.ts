import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../build-app.ts';
import { makeCreator } from '../factories.ts';
import { createVisitor, signedInVisitor } from '../visitor.ts';

test('security 42: what strangers ask for most writes nothing, and comes from memory', async (t) => {
  const app = await buildApp(t);
  const { runtime, http } = app;
  const { creatorId } = await makeCreator(runtime);
  const username = (await runtime.accounts.byId(creatorId))?.username;
  const profile = {
    displayName: 'Zaphod',
    bio: '',
    socialLinks: [],
    channels: [],
    channelDetails: {},
    pageLook: 'plain' as const,
  };
  const showPage = (pagePublic: boolean) => runtime.profiles.update(creatorId, { ...profile, pagePublic });
  await showPage(true);
  await http.inject('/readyz');
  const written = t.mock.method(runtime.db, 'write');
  for (const url of [
    '/readyz',
    '/openapi.json',
    '/docs',
    '/docs/oauth',
    `/@${username}`,
    `/@${username}/card.png`,
    '/healthz',
  ]) {
    const answers = await Promise.all(Array.from({ length: 50 }, () => http.inject({ url, headers: browser })));
    assert.deepEqual([...new Set(answers.map(({ statusCode }) => statusCode))], [200], url);
    assert.equal(new Set(answers.map(({ body }) => body)).size, 1, url);
  }
  assert.equal(written.mock.callCount(), 0);

  await t.test('a public page that is switched off is gone at once', async () => {
    for (const pagePublic of [false, true, false]) {
      await showPage(pagePublic);
      assert.equal((await http.inject(`/@${username}`)).statusCode, pagePublic ? 200 : 404);
    }
  });

  await t.test('a remembered page is the reader’s own: language, name and notice', async () => {
    const thai = await createVisitor(app, { language: 'th' }).get('/docs');
    assert.match(thai.body, /<html lang="th"/);
    const visitor = await signedInVisitor(app, creatorId);
    assert.match((await visitor.get('/docs')).body, /Zaphod/);
    const stranger = await createVisitor(app).get('/docs?lang=en&x=1');
    assert.doesNotMatch(stranger.body, /Zaphod|x=1/);
    assert.equal(stranger.headers['cache-control'], 'no-store');
  });
});

const browser = { accept: 'text/html' };

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../../../../test/build-app.ts';
import { runCommand } from '../../../../test/cli-process.ts';
import { makeApp, makeCreator } from '../../../../test/factories.ts';
import { createVisitor, signedInVisitor } from '../../../../test/visitor.ts';

const path = '/account/activity';

test('owners read in their language what happened to their account, by whom and from where; nobody else does', async (t) => {
  const app = await buildApp(t);
  const { runtime, clock, env } = app;
  await runtime.accounts.add({ username: 'mali', password: 'a long password' });
  const owner = createVisitor(app, { address: '192.0.2.7' });
  await owner.get('/login');
  clock.advance(60_000);
  const browser = { 'user-agent': 'Mozilla/5.0 (Windows NT 10.0) Gecko/20100101 Firefox/140.0' };
  await owner.post('/login', { username: 'mali', password: 'a long password' }, browser);
  const { id } = await runtime.accounts.byUsername('mali');
  const { clientId } = await makeApp(runtime, 'Bot <b>', id);
  const { code, err } = await runCommand(env, 'app', 'suspend', clientId);
  assert.equal(code, 0, err);

  assert.match((await owner.get('/account')).body, /href="\/account\/activity"/);
  const { body } = await owner.get(path);
  assert.match(body, /Signed in[\s\S]*2026[\s\S]*You[\s\S]*192\.0\.2\.7<br>.*Firefox, Windows/);
  assert.match(
    body,
    /Your app was suspended or restored.*Suspended.*Bot &#60;b&#62;[\s\S]*The operator of this server/,
  );
  assert.match(body, /Do you see something that you did not do\?[\s\S]*href="\/dashboard\/apps"/);
  const thai = await owner.get(`${path}?lang=th`);
  assert.match(thai.body, /เข้าสู่ระบบ/);
  assert.match(thai.body, /ผู้ดูแล/);

  const other = await signedInVisitor(app, (await makeCreator(runtime)).creatorId);
  const theirs = (await other.get(path)).body;
  assert.ok(!theirs.includes('192.0.2.7') && !theirs.includes('Bot'));
  const stranger = await createVisitor(app).get(path);
  assert.equal(stranger.headers.location, `/login?return_to=${encodeURIComponent(path)}`);
});

test('a long log comes in pages, from the newest on, each row once', async (t) => {
  const app = await buildApp(t);
  const { runtime, clock } = app;
  const { creatorId } = await makeCreator(runtime);
  for (let i = 0; i < 119; i += 1) {
    clock.advance(1000);
    await runtime.recovery.renew(creatorId);
  }
  clock.advance(1000);
  const visitor = await signedInVisitor(app, creatorId);
  const times: string[] = [];
  const pages: number[] = [];
  for (let url: string | undefined = path; url !== undefined; ) {
    const { body, statusCode } = await visitor.get(url);
    assert.equal(statusCode, 200);
    const found = [...body.matchAll(/<time datetime="([^"]+)"/g)].map(([, time = '']) => time);
    pages.push(found.length);
    times.push(...found);
    url = /href="(\/account\/activity\?before[^"]+)"/.exec(body)?.[1]?.replaceAll('&#61;', '=');
  }
  assert.deepEqual(pages, [50, 50, 20]);
  assert.deepEqual(times, times.toSorted().reverse());
  for (const before of ['x', 'aud_', '']) assert.equal((await visitor.get(`${path}?before=${before}`)).statusCode, 422);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../../../../test/build-app.ts';
import { createVisitor } from '../../../../test/visitor.ts';

const password = 'correct horse battery';

test('security 28: ten wrong passwords, then slower, then 429 for that account and address', async (t) => {
  const app = await buildApp(t);
  await app.runtime.accounts.add({ username: 'mali', password });
  await app.runtime.accounts.add({ username: 'nok', password });
  const visitor = createVisitor(app);
  await visitor.get('/login');
  const attempt = async (username = 'mali', guess = 'wrong password') => {
    const before = app.clock();
    const answer = await visitor.post('/login', { username, password: guess });
    return { ...answer, status: answer.statusCode, headers: answer.headers, waited: app.clock() - before };
  };
  for (let i = 0; i < 10; i++)
    assert.deepEqual((({ status, waited }) => ({ status, waited }))(await attempt()), { status: 401, waited: 0 });
  for (const delay of [1000, 2000, 4000]) {
    const { status, waited } = await attempt();
    assert.deepEqual({ status, waited }, { status: 401, waited: delay });
  }
  const refused = await attempt('mali', password);
  assert.equal(refused.status, 429);
  assert.equal(refused.headers['retry-after'], '30');
  assert.equal((await attempt('nok', password)).status, 303);

  await t.test('the owner comes in from another address, and here after the pause', async () => {
    const elsewhere = createVisitor(app, { address: '192.0.2.7' });
    await elsewhere.get('/login');
    assert.equal((await elsewhere.post('/login', { username: 'mali', password })).statusCode, 303);
    await visitor.get('/logout');
    await visitor.post('/logout');
    await visitor.get('/login');
    assert.equal((await attempt('mali', password)).status, 429);
    app.clock.advance(30_000);
    assert.equal((await attempt('mali', password)).status, 303);
  });

  await t.test('a success clears the count, and pauses grow to a quarter of an hour at most', async () => {
    const guesser = createVisitor(app, { address: '192.0.2.8' });
    await guesser.get('/login');
    const wrong = () => guesser.post('/login', { username: 'mali', password: 'wrong password' });
    for (let i = 0; i < 10; i++) assert.equal((await wrong()).statusCode, 401);
    assert.equal((await guesser.post('/login', { username: 'mali', password })).statusCode, 303);
    const again = createVisitor(app, { address: '192.0.2.8' });
    await again.get('/login');
    let longest = 0;
    for (let i = 0; i < 40; i++) {
      const answer = await again.post('/login', { username: 'mali', password: 'wrong password' });
      if (i < 10) assert.equal(answer.statusCode, 401);
      const pause = Number(answer.headers['retry-after'] ?? 0);
      longest = Math.max(longest, pause);
      app.clock.advance(pause * 1000);
    }
    assert.equal(longest, 900);
  });
});

test('security 28: guesses at once gain nothing, and IPv6 addresses of one network count together', async (t) => {
  const app = await buildApp(t);
  await app.runtime.accounts.add({ username: 'mali', password });
  const answers = await Promise.all(
    Array.from({ length: 30 }, async (_, i) => {
      const visitor = createVisitor(app, { address: `2001:db8:1:2::${i + 1}` });
      await visitor.get('/login');
      return visitor.post('/login', { username: 'mali', password: 'wrong password' });
    }),
  );
  assert.equal(answers.filter(({ statusCode }) => statusCode === 401).length, 13);
  assert.equal(answers.filter(({ statusCode }) => statusCode === 429).length, 17);
});

test('security 28: an unknown user looks and lasts the same', async (t) => {
  const app = await buildApp(t);
  await app.runtime.accounts.add({ username: 'known', password });
  const took = { known: [] as number[], nobody: [] as number[] };
  const pages = { known: '', nobody: '' };
  for (let round = 0; round < 15; round++)
    for (const username of ['known', 'nobody'] as const) {
      const visitor = createVisitor(app, { address: `192.0.2.${round}` });
      await visitor.get('/login');
      const start = performance.now();
      const answer = await visitor.post('/login', { username, password: 'wrong password' });
      took[username].push(performance.now() - start);
      assert.equal(answer.statusCode, 401);
      pages[username] = answer.body.replace(/name="csrf" value="[^"]+"/g, '').replaceAll(username, 'USER');
    }
  assert.equal(pages.known, pages.nobody);
  const median = (times: number[]) => times.sort((a, b) => a - b)[7]!;
  const ratio = median(took.nobody) / median(took.known);
  assert.ok(ratio > 0.5 && ratio < 2, `unknown ÷ known = ${ratio}`);
});

test('strangers are held to a pace by address, over all accounts and for new ones', async (t) => {
  const app = await buildApp(t);
  const visitor = createVisitor(app, { address: '192.0.2.1' });
  await visitor.get('/signup');
  for (let i = 0; i < 10; i++)
    assert.equal((await visitor.post('/signup', { username: 'no', password })).statusCode, 422);
  const tenth = await visitor.post('/signup', { username: 'mali', password });
  assert.deepEqual([tenth.statusCode, tenth.headers['retry-after']], [429, '60']);
  await assert.rejects(app.runtime.accounts.byUsername('mali'));
  for (let i = 0; i < 120; i++) assert.equal((await visitor.post('/login/passkey/options')).statusCode, 200);
  for (const path of ['/login', '/login/recovery', '/login/passkey/options'])
    assert.equal((await visitor.post(path, { username: 'x', password })).statusCode, 429, path);
  app.clock.advance(60_000);
  assert.equal((await visitor.post('/signup', { username: 'mali', password })).statusCode, 303);
});

test('security 33: X-Forwarded-For counts only from a trusted proxy', async (t) => {
  const production = {
    AUTH_URL: 'https://tips.example',
    BASE_URL: 'https://tips.example',
    SECRET_KEY: 'k'.repeat(40),
    NODE_ENV: 'production',
  };
  const statuses = async (env: Record<string, string>) => {
    const app = await buildApp(t, { ...production, ...env });
    const visitor = createVisitor(app, { address: '10.1.2.3' });
    await visitor.get('/login');
    const seen = new Set<number>();
    for (let i = 0; i < 16; i++) {
      const forwarded = { 'x-forwarded-for': `203.0.113.${i}` };
      const answer = await visitor.post('/login', { username: 'mali', password: 'wrong password' }, forwarded);
      seen.add(answer.statusCode);
    }
    return [...seen];
  };
  assert.deepEqual(await statuses({}), [401, 429]);
  assert.deepEqual(await statuses({ TRUST_PROXY: '10.0.0.0/8' }), [401]);
});

test('security 33: a forged Host changes no address of a page; in development it gets a 421 page', async (t) => {
  const app = await buildApp(t);
  const foreign = await app.http.inject({ url: '/login', headers: { host: 'evil.example', accept: 'text/html' } });
  assert.equal(foreign.statusCode, 421);
  assert.match(String(foreign.headers['content-type']), /text\/html/);
  assert.equal(foreign.headers['set-cookie'], undefined);
  const forwarded = await app.http.inject({ url: '/login', headers: { 'x-forwarded-for': '203.0.113.1' } });
  assert.equal(forwarded.statusCode, 421);
  const production = await buildApp(t, {
    AUTH_URL: 'https://tips.example',
    BASE_URL: 'https://tips.example',
    SECRET_KEY: 'k'.repeat(40),
    NODE_ENV: 'production',
  });
  for (const url of ['/login', '/account', '/nowhere']) {
    const answer = await production.http.inject({ url, headers: { host: 'evil.example', accept: 'text/html' } });
    assert.doesNotMatch(answer.body + JSON.stringify(answer.headers), /evil/);
  }
});

test('security 28: attempts during a pause write nothing', async (t) => {
  const app = await buildApp(t);
  const { throttle, db } = app.runtime;
  const attempt = () => throttle.enter('mali', '192.0.2.1');
  for (let attempts = 1; attempts <= 13; attempts++) assert.equal(await attempt(), 0);
  const write = t.mock.method(db, 'write');
  assert.equal(await attempt(), 30);
  assert.equal(write.mock.callCount(), 0);
  app.clock.advance(30_000);
  assert.equal(await attempt(), 0);
});

test('security 28: a wrong recovery code of a known name waits for no more than one of an unknown name', async (t) => {
  const app = await buildApp(t);
  const { accounts, recovery, db } = app.runtime;
  const { id } = await accounts.add({ username: 'known', password });
  await recovery.renew(id);
  const write = t.mock.method(db, 'write');
  const attempt = async (username: string) => {
    write.mock.resetCalls();
    const visitor = { address: '192.0.2.1', userAgent: '' };
    const { outcome } = await recovery.signIn(username, 'aaaa-bbbb-cccc-dddd', 'another good one', visitor);
    assert.equal(outcome, 'wrong');
    // Nobody waits for the row of the audit log.
    return write.mock.calls.map((call) => call.arguments[0].name).filter((name) => name !== 'refuseSignIn');
  };
  assert.deepEqual(await attempt('known'), await attempt('nobody'));
});

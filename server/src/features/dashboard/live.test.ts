import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../../../test/build-app.ts';
import { makeCreator } from '../../../test/factories.ts';
import { signedInVisitor } from '../../../test/visitor.ts';
import { accessTopic } from '../oauth/index.ts';

test('an open dashboard hears of its creator’s tips until the session ends', async (t) => {
  const app = await buildApp(t);
  const { runtime } = app;
  const [mali, nok] = [await makeCreator(runtime), await makeCreator(runtime)];
  const address = await app.http.listen({ port: 0, host: '127.0.0.1' });
  const visitor = await signedInVisitor(app, mali.creatorId);
  const cookie = [...visitor.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const open = (headers: Record<string, string>) =>
    fetch(`${address}/dashboard/stream`, { headers, redirect: 'manual', signal: AbortSignal.timeout(180_000) });

  assert.equal((await open({})).status, 303, 'a stranger is sent to sign in');

  const answer = await open({ cookie });
  assert.equal(answer.headers.get('content-type'), 'text/event-stream; charset=utf-8');
  assert.equal(answer.headers.get('access-control-allow-origin'), null);
  const tip = { app: null, amount: 5, name: 'SOMCHAI', displayName: null };
  await runtime.tips.record({ creatorId: nok.creatorId, ...tip, message: 'not for mali' });
  await runtime.overlays.sendTest(mali.creatorId);
  await runtime.tips.record({ creatorId: mali.creatorId, ...tip, message: 'for mali' });

  let text = '';
  let signedOut = false;
  for await (const chunk of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    text += chunk;
    if (signedOut || !text.includes('for mali')) continue;
    signedOut = true;
    await visitor.post('/logout');
    runtime.hub.publish(accessTopic, mali.creatorId);
  }
  assert.equal(signedOut, true);
  assert.equal(text.match(/^data: /gm)?.length, 1, text);
  assert.doesNotMatch(text, /not for mali|alert\.test/);
  assert.equal((await open({ cookie })).status, 303);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../../../test/build-app.ts';
import { makeCreator, makePublicApp } from '../../../test/factories.ts';
import { challengeOf, post, redirectUri, verifier } from '../../../test/oauth.ts';
import { signedInVisitor } from '../../../test/visitor.ts';

const hour = 3_600_000;
const ticketIn = (body: string): string => /name="request" value="([^"]+)"/.exec(body)?.[1] ?? '';

test('a creator approves 600 times an hour, apps and devices together; then 429, and nothing is made', async (t) => {
  const app = await buildApp(t);
  const { http, runtime, clock } = app;
  const creator = await makeCreator(runtime);
  const { clientId } = await makePublicApp(runtime);
  const visitor = await signedInVisitor(app, creator.creatorId);
  const query = { client_id: clientId, redirect_uri: redirectUri, state: 's', code_challenge: challengeOf(verifier) };
  const url = `/oauth/authorize?${new URLSearchParams({ ...query, code_challenge_method: 'S256' })}`;
  const ticket = async (who = visitor) => ticketIn((await who.get(url)).body);
  const device = async () => {
    const { user_code } = (await post(http, '/v1/oauth/device_authorization', { client_id: clientId })).json();
    const page = await visitor.post('/device', { user_code });
    return (decision: string) => visitor.post('/device/decision', { request: ticketIn(page.body), decision });
  };
  const codes = async () =>
    Number((await runtime.db.get<{ n: number }>('SELECT count(*) AS n FROM authorization_codes'))?.n);

  const [first, waiting] = [await device(), await device()];
  assert.equal((await first('approve')).statusCode, 200);
  // As if so many had been approved just now.
  await runtime.limiter.take(`consent:${creator.creatorId}`, { limit: 600, windowMs: hour }, 580);
  const request = await ticket();
  for (let i = 1; i < 20; i++)
    assert.equal((await visitor.post('/oauth/authorize', { request, decision: 'approve' })).statusCode, 303, `${i}`);
  clock.advance(60_000);
  const made = await codes();
  const over = await visitor.post('/oauth/authorize', { request, decision: 'approve' });
  assert.deepEqual([over.statusCode, over.headers['retry-after']], [429, '3540']);
  assert.equal((await waiting('approve')).statusCode, 429);
  assert.equal(await codes(), made);

  // Whoever does not want to connect is never refused, nor is another creator.
  assert.equal((await waiting('deny')).statusCode, 200);
  const denied = await visitor.post('/oauth/authorize', { request, decision: 'deny' });
  assert.match(String(denied.headers.location), /error=access_denied/);
  const other = await signedInVisitor(app, (await makeCreator(runtime)).creatorId);
  const approved = await other.post('/oauth/authorize', { request: await ticket(other), decision: 'approve' });
  assert.equal(approved.statusCode, 303);

  clock.advance(hour - 60_000);
  const again = await visitor.post('/oauth/authorize', { request: await ticket(), decision: 'approve' });
  assert.equal(again.statusCode, 303);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeApp, makeCreator, makePair } from '../../../test/factories.ts';
import { startReceiver } from '../../../test/receiver.ts';
import { sendTip } from '../../../test/trace.ts';
import { createVisitor, signedInVisitor } from '../../../test/visitor.ts';
import { buildWebhooks } from '../../../test/webhooks.ts';

test('a developer finds a tip or an event by its id, with their own webhooks and nothing of others', async (t) => {
  const app = await buildWebhooks(t);
  const { runtime, call, worker, clock } = app;
  const receiver = await startReceiver(t);
  receiver.answer = (response) => response.writeHead(503).end('the receiver’s words');
  const developer = await makeCreator(runtime);
  const client = await makeApp(runtime, 'Goal Bot', developer.creatorId);
  const pair = await makePair(runtime, { app: client });
  const other = await makePair(runtime, { creator: pair, app: await makeApp(runtime, 'Other app') });
  for (const [each, path] of [
    [pair, 'mine'],
    [other, 'theirs'],
  ] as const)
    assert.equal((await call('POST', '', { url: `${receiver.url}/${path}` }, each)).statusCode, 201);
  clock.advance(1000);
  const [mine, theirs] = [await sendTip(app, pair), await sendTip(app, other)];
  await worker.pass();
  const visitor = await signedInVisitor(app, developer.creatorId);
  const path = `/developers/apps/${client.clientId}`;
  const find = (id: string, lang = 'en') =>
    visitor.get(`${path}/trace?id=${encodeURIComponent(id)}`, { 'accept-language': lang });
  const events = (await runtime.events.after(pair.creatorId, 0, 10)).map(({ body }) => JSON.parse(body));
  for (const [id, requestId] of [
    [mine.id, mine.requestId],
    [events[0].id, mine.requestId],
    [theirs.id, ''],
    [events[1].id, ''],
  ] as const) {
    const { statusCode, body: page } = await find(id);
    assert.equal(statusCode, 200, id);
    const body = page.replaceAll('<wbr>', '');
    for (const text of ['has not been shown yet', 'No overlay is open', '/hook/mine', 'answered 503', requestId])
      assert.ok(body.includes(text), `${id}: ${text}`);
    for (const secret of ['/hook/theirs', 'receiver’s words', theirs.requestId])
      assert.ok(!body.includes(secret), `${id}: ${secret}`);
  }
  assert.match((await find(` ${mine.id} `, 'th')).body, /การแจ้ง\u2060เตือนยังไม่ได้แสดง/);
  assert.match((await visitor.get(path)).body, new RegExp(`action="${path}/trace"`));
  const [delivery] = (await call('GET', `/${await webhookOf(app, client)}/deliveries`, undefined, pair)).json().data;
  const log = await visitor.get(`${path}/webhooks/${await webhookOf(app, client)}/deliveries/${delivery.id}`);
  assert.match(
    log.body,
    new RegExp(`href="[^"]*/trace\\?id&#61;${delivery.event_id}"|/trace\\?id=${delivery.event_id}`),
  );

  const stranger = await makePair(runtime);
  const foreign = await sendTip(app, stranger);
  for (const id of [foreign.id, 'tip_unknown', runtime.newId('tip'), runtime.newId('evt'), '<script>']) {
    const { statusCode, body } = await find(id);
    assert.equal(statusCode, 404, id);
    assert.doesNotMatch(body, /<script>/);
  }
  assert.equal((await createVisitor(app).get(`${path}/trace?id=${mine.id}`)).statusCode, 303);
  const anotherDeveloper = await signedInVisitor(app, (await makeCreator(runtime)).creatorId);
  assert.equal((await anotherDeveloper.get(`${path}/trace?id=${mine.id}`)).statusCode, 404);
  await runtime.grants.revoke(pair.creatorId, client.clientId, 'creator');
  assert.equal((await find(mine.id)).statusCode, 404, 'the creator has disconnected the app');
});

async function webhookOf({ runtime }: Awaited<ReturnType<typeof buildWebhooks>>, { clientId }: { clientId: string }) {
  return (await runtime.webhooks.list(clientId))[0]?.id ?? '';
}

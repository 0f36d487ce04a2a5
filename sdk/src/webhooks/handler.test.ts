import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import express from 'express';
import fastify from 'fastify';
import { Webhook } from 'standardwebhooks';
import type { WebhookEvent } from '../types.ts';
import { createWebhookHandler, type SeenStore, WebhookError, type WebhookHandlerOptions } from './index.ts';

const secret = `whsec_${randomBytes(32).toString('base64')}`;

function eventText(id: string, type = 'alert.shown'): string {
  const data = { tip_id: 'tip_1', alert_id: null, shown_at: '2026-11-16T09:00:00.000Z', reason: null };
  return JSON.stringify({ id, type, sequence: 1, test: false, replay: false, creator_id: 'crt_1', data, note: 'น้ำใจ' });
}

function signed(body: string, id = 'evt_1', key = secret): Record<string, string> {
  const at = new Date();
  const timestamp = String(Math.floor(at.getTime() / 1000));
  const signature = new Webhook(key).sign(id, at, body);
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': signature,
  };
}

function requestOf(body: string, headers = signed(body)): Request {
  return new Request('http://app.example/webhooks', { method: 'POST', headers, body });
}

/** A handler that notes what it is called with. */
function setUp(options: Partial<Pick<WebhookHandlerOptions, 'on' | 'seen' | 'maxBodyBytes'>> = {}) {
  const shown: string[] = [];
  const errors: unknown[] = [];
  const webhooks = createWebhookHandler({
    secret,
    on: { 'alert.shown': (event) => shown.push(event.id) },
    onError: (error) => errors.push(error),
    ...options,
  });
  return { webhooks, shown, errors };
}

async function listen(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`;
}

async function post(url: string, body: string, headers = signed(body)): Promise<[number, string]> {
  const response = await fetch(url, { method: 'POST', headers, body });
  return [response.status, await response.text()];
}

test('a genuine event reaches the handler of its type, which is typed', async () => {
  const tips: (string | null)[] = [];
  const { webhooks } = setUp({
    on: {
      'alert.shown': (event) => tips.push(event.data.tip_id),
      'webhook.ping': (event) => tips.push(event.creator_id satisfies null),
      // @ts-expect-error There is no such type.
      'alert.show': () => tips.push('never'),
    },
  });
  assert.equal((await webhooks.fetch(requestOf(eventText('evt_1')))).status, 204);
  assert.deepEqual(tips, ['tip_1']);
});

test('a type without a handler, known or not, is answered like a success', async () => {
  const { webhooks, shown, errors } = setUp();
  for (const type of ['tip.created', 'tip.framed', 'constructor', '__proto__']) {
    const body = eventText(`evt_${type}`, type);
    assert.equal((await webhooks.fetch(requestOf(body))).status, 204, type);
  }
  assert.deepEqual([shown, errors], [[], []]);
});

test('what is forged, old, incomplete or no POST calls nothing, and the answer names the reason only', async () => {
  const { webhooks, shown, errors } = setUp();
  const body = eventText('evt_1');
  const good = signed(body);
  const answers: [Request, number, string][] = [
    [
      requestOf(body, signed(body, 'evt_1', `whsec_${randomBytes(32).toString('base64')}`)),
      400,
      'no_matching_signature',
    ],
    [requestOf(body.replace('tip_1', 'tip_2'), good), 400, 'no_matching_signature'],
    [requestOf(body, { ...good, 'webhook-id': 'evt_2' }), 400, 'no_matching_signature'],
    [requestOf(body, { ...good, 'webhook-timestamp': '1700000000' }), 400, 'timestamp_too_old'],
    [requestOf(body, {}), 400, 'missing_header'],
    [new Request('http://app.example/webhooks', { headers: good }), 405, 'method_not_allowed'],
  ];
  for (const [request, status, text] of answers) {
    const response = await webhooks.fetch(request);
    assert.deepEqual([response.status, await response.text()], [status, text]);
  }
  assert.deepEqual([shown, errors], [[], []]);
});

test('a wrong secret is told when the handler is made', () => {
  for (const bad of [{ secret: '' }, { secret: 'hello!' }, { secrets: [] }]) {
    assert.throws(
      () => createWebhookHandler({ ...bad, on: {} }),
      (error) => error instanceof WebhookError && error.code === 'bad_secret',
    );
  }
  assert.throws(() => createWebhookHandler({ secret: JSON.parse('null'), on: {} }), /the secret is missing: adding a/);
});

test('while a secret is rotated either one is accepted', async () => {
  const next = `whsec_${randomBytes(32).toString('base64')}`;
  const webhooks = createWebhookHandler({ secrets: [next, secret], on: {} });
  const body = eventText('evt_1');
  for (const key of [next, secret]) {
    assert.equal((await webhooks.fetch(requestOf(body, signed(body, 'evt_1', key)))).status, 204);
  }
});

test('an event that comes again is not handled again', async () => {
  const { webhooks, shown } = setUp();
  for (const id of ['evt_1', 'evt_2', 'evt_1', 'evt_2']) {
    const body = eventText(id);
    assert.equal((await webhooks.fetch(requestOf(body, signed(body, id)))).status, 204);
  }
  assert.deepEqual(shown, ['evt_1', 'evt_2']);
});

test('an event whose handler failed is answered 500, told to onError, and handled when it comes again', async () => {
  const failure = new Error('the database is away: postgres://secret');
  let calls = 0;
  const heard: [unknown, WebhookEvent | null][] = [];
  const webhooks = createWebhookHandler({
    secret,
    on: {
      async 'alert.shown'() {
        calls++;
        if (calls === 1) throw failure;
      },
    },
    onError: (error, event) => heard.push([error, event]),
  });
  const body = eventText('evt_1');
  const first = await webhooks.fetch(requestOf(body));
  assert.deepEqual([first.status, await first.text()], [500, 'internal_error']);
  assert.deepEqual(heard, [[failure, JSON.parse(body)]]);
  assert.equal((await webhooks.fetch(requestOf(body))).status, 204);
  assert.equal((await webhooks.fetch(requestOf(body))).status, 204);
  assert.equal(calls, 2);
});

test('a WebhookError of the handler’s own is a failure too, not a refusal', async () => {
  const { webhooks, errors } = setUp({
    on: {
      'alert.shown': () => {
        throw new WebhookError('bad_body', 'of another delivery');
      },
    },
  });
  assert.equal((await webhooks.fetch(requestOf(eventText('evt_1')))).status, 500);
  assert.equal(errors.length, 1);
});

test('the same event thrice at once is handled once, and all get its outcome', async () => {
  let calls = 0;
  const { webhooks } = setUp({
    on: {
      async 'alert.shown'(event) {
        calls++;
        await new Promise((resolve) => setImmediate(resolve));
        if (event.id === 'evt_bad') throw new Error('failed');
      },
    },
  });
  const thrice = async (id: string) => {
    const deliveries = [1, 2, 3].map(() => webhooks.fetch(requestOf(eventText(id), signed(eventText(id), id))));
    return (await Promise.all(deliveries)).map((response) => response.status);
  };
  assert.deepEqual(await thrice('evt_good'), [204, 204, 204]);
  assert.equal(calls, 1);
  assert.deepEqual(await thrice('evt_bad'), [500, 500, 500]);
});

test('a store of one’s own hears an id only after its handler succeeded, and what it fails at is delivered again', async () => {
  const log: string[] = [];
  let broken = true;
  const seen: SeenStore = {
    async has(id) {
      log.push(`has ${id}`);
      if (broken) throw new Error('the store is away');
      return log.includes(`add ${id}`);
    },
    async add(id) {
      log.push(`add ${id}`);
    },
  };
  const { webhooks, errors } = setUp({ seen, on: { 'alert.shown': (event) => log.push(`handle ${event.id}`) } });
  assert.equal((await webhooks.fetch(requestOf(eventText('evt_1')))).status, 500);
  assert.equal(errors.length, 1);
  broken = false;
  for (let round = 0; round < 2; round++) {
    assert.equal((await webhooks.fetch(requestOf(eventText('evt_1')))).status, 204);
  }
  assert.deepEqual(log, ['has evt_1', 'has evt_1', 'handle evt_1', 'add evt_1', 'has evt_1']);
});

test('the memory of handled ids is bounded and keeps the latest', async () => {
  const { rememberSeen } = await import('./seen.ts');
  const seen = rememberSeen(3);
  for (const id of ['a', 'b', 'c', 'a', 'd']) await seen.add(id);
  assert.deepEqual(
    ['a', 'b', 'c', 'd'].map((id) => seen.has(id)),
    [false, true, true, true],
  );
});

test('a Fetch request whose body was read, or that has none, gets an error that says what to do', async () => {
  const { webhooks, errors } = setUp();
  const read = requestOf(eventText('evt_1'));
  await read.json();
  const response = await webhooks.fetch(read);
  assert.deepEqual([response.status, await response.text()], [500, 'internal_error']);
  assert.match(String(errors[0]), /Hono .*c\.req\.raw.*\n.*Next\.js .*\n.*Deno, Bun, Workers/);
  const empty = new Request('http://app.example/', { method: 'POST', headers: signed('') });
  assert.equal((await webhooks.fetch(empty)).status, 500);
  assert.match(String(errors[1]), /no body/);
});

test('a body over the limit is refused, told by its length or found while reading', async () => {
  const { webhooks, shown } = setUp({ maxBodyBytes: 1_000 });
  const body = eventText(`evt_${'x'.repeat(1_000)}`);
  const endless = new ReadableStream({
    pull(controller) {
      controller.enqueue(new Uint8Array(400));
    },
  });
  for (const request of [
    requestOf(body, { ...signed(body), 'content-length': String(body.length) }),
    new Request('http://app.example/', {
      method: 'POST',
      headers: signed(body),
      body: endless,
      duplex: 'half',
    } as RequestInit),
  ]) {
    const response = await webhooks.fetch(request);
    assert.deepEqual([response.status, await response.text()], [413, 'body_too_large']);
  }
  assert.deepEqual(shown, []);
});

test('Node’s http: handled, refused, too large, parsed before', async (t) => {
  const { webhooks, shown, errors } = setUp({ maxBodyBytes: 1_000 });
  const url = await listen(t, webhooks.node);
  assert.deepEqual(await post(url, eventText('evt_1')), [204, '']);
  assert.deepEqual(await post(url, eventText('evt_1').replace('tip_1', 'tip_2'), signed(eventText('evt_1'))), [
    400,
    'no_matching_signature',
  ]);
  const long = eventText(`evt_${'x'.repeat(5_000)}`);
  assert.deepEqual(await post(url, long), [413, 'body_too_large']);
  assert.deepEqual(shown, ['evt_1']);
  assert.deepEqual(errors, []);

  const read = await listen(t, async (request, response) => {
    for await (const _ of request);
    await webhooks.node(request, response);
  });
  assert.deepEqual(await post(read, eventText('evt_2')), [500, 'internal_error']);
  assert.match(String(errors[0]), /Express .*before app\.use\(express\.json/);
});

test('Node’s http: an endless body without a length is refused and answered', async (t) => {
  const { webhooks } = setUp({ maxBodyBytes: 100_000 });
  const url = await listen(t, webhooks.node);
  const sending = request(url, { method: 'POST', headers: signed('{}') });
  sending.on('error', () => {}); // the server closes while more is sent
  const answer = once(sending, 'response');
  sending.write('x'.repeat(60_000));
  sending.write('x'.repeat(60_000));
  const [response]: IncomingMessage[] = await answer;
  assert.equal(response?.statusCode, 413);
  assert.equal(response?.headers.connection, 'close');
  sending.destroy();
});

test('Express: as it is, behind express.raw, with kept bytes; behind express.json it says what to do', async (t) => {
  const { webhooks, shown, errors } = setUp();
  const app = express();
  app.post('/webhooks', webhooks.node);
  app.post('/raw', express.raw({ type: '*/*' }), webhooks.node);
  app.post('/text', express.text({ type: '*/*' }), webhooks.node);
  const keepBytes = (request: IncomingMessage, _response: unknown, bytes: Buffer) =>
    Object.assign(request, { rawBody: bytes });
  app.post('/kept', express.json({ verify: keepBytes }), webhooks.node);
  app.post('/parsed', express.json(), webhooks.node);
  const url = await listen(t, app);
  for (const [index, path] of ['webhooks', 'raw', 'text', 'kept'].entries()) {
    const body = eventText(`evt_${index}`);
    assert.deepEqual(await post(new URL(path, url).href, body, signed(body, `evt_${index}`)), [204, ''], path);
  }
  assert.deepEqual(shown, ['evt_0', 'evt_1', 'evt_2', 'evt_3']);
  assert.deepEqual(errors, []);
  assert.deepEqual(await post(new URL('parsed', url).href, eventText('evt_4')), [500, 'internal_error']);
  assert.match(String(errors[0]), /Express .*before app\.use\(express\.json/);
});

test('Fastify: with the bytes kept for one route; as it is it says what to do', async (t) => {
  const { webhooks, shown, errors } = setUp();
  const app = fastify();
  t.after(() => app.close());
  app.register(async (scope) => {
    scope.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
    scope.post('/webhooks', webhooks.node);
  });
  app.post('/parsed', webhooks.node);
  app.post('/other', async (request) => request.body);
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  assert.deepEqual(await post(`${url}/webhooks`, eventText('evt_1')), [204, '']);
  assert.deepEqual(shown, ['evt_1']);
  assert.deepEqual(await post(`${url}/webhooks`, eventText('evt_1'), { 'content-type': 'application/json' }), [
    400,
    'missing_header',
  ]);
  assert.deepEqual(errors, []);
  assert.deepEqual(await post(`${url}/parsed`, eventText('evt_2')), [500, 'internal_error']);
  assert.match(String(errors[0]), /parseAs: 'buffer'/);
  assert.deepEqual(await post(`${url}/other`, '{"a":1}', { 'content-type': 'application/json' }), [200, '{"a":1}']);
});

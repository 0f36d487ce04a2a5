import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { until } from '../../sdk/test/until.ts';
import { buildApp } from '../test/build-app.ts';
import { makePair } from '../test/factories.ts';
import { connect, listen, recordTips, socketToken } from '../test/sockets.ts';
import { eventTypes } from './features/events/index.ts';
import { scopes } from './features/oauth/index.ts';

interface Operation {
  readonly operationId: string;
  readonly security: Record<string, string[]>[];
  readonly parameters: { name: string }[];
  readonly servers?: { url: string }[];
  readonly responses: Record<string, { headers?: object }>;
  readonly 'x-frames'?: Record<string, { $ref: string }>;
}

test('every operation says what its caller shows, with scopes of the one flow; the pages are at their own address', async (t) => {
  const { http } = await buildApp(t, { BASE_URL: 'http://127.0.0.1:8080', AUTH_URL: 'http://localhost:8080' });
  const document = (await http.inject('/openapi.json')).json();
  const { oauth2, bearer } = document.components.securitySchemes;
  assert.deepEqual(Object.keys(oauth2.flows.authorizationCode.scopes), Object.keys(scopes));
  assert.equal(oauth2.flows.authorizationCode.authorizationUrl, 'http://localhost:8080/oauth/authorize');
  assert.equal(oauth2.flows.authorizationCode.tokenUrl, 'http://127.0.0.1:8080/v1/oauth/token');
  assert.equal(bearer.bearerFormat, 'JWT');
  const operations = Object.values<Record<string, Operation>>(document.paths).flatMap((methods) =>
    Object.values(methods),
  );
  const used = operations.flatMap(({ security }) => security.flatMap(({ oauth2: scope = [] }) => scope));
  assert.deepEqual([...new Set(used)].sort(), Object.keys(scopes).sort());
  assert.deepEqual(
    operations.filter(({ security }) => security.length === 0).map(({ operationId }) => operationId),
    ['getServerMetadata', 'getKeySet', 'authorize'],
  );
  const authorize: Operation = document.paths['/oauth/authorize'].get;
  assert.equal(authorize.servers?.[0]?.url, 'http://localhost:8080');
  assert.deepEqual(Object.keys(authorize.responses), ['200', '303', '400']);
  assert.ok(authorize.parameters.some(({ name }) => name === 'code_challenge_method'));
});

test('events are a union by type, and the webhook shows one of each', async (t) => {
  const { http } = await buildApp(t);
  const document = (await http.inject('/openapi.json')).json();
  const { discriminator, oneOf } = document.components.schemas.WebhookEvent;
  assert.equal(discriminator.propertyName, 'type');
  assert.deepEqual(Object.keys(discriminator.mapping), Object.keys(eventTypes));
  assert.equal(oneOf.length, Object.keys(eventTypes).length);
  const { post } = document.webhooks.event;
  assert.deepEqual(Object.keys(post.requestBody.content['application/json'].examples), Object.keys(eventTypes));
  assert.deepEqual(
    post.parameters.map(({ name }: { name: string }) => name),
    ['webhook-id', 'webhook-timestamp', 'webhook-signature'],
  );
});

test('the frames of the socket are those that the API document describes', async (t) => {
  const app = await listen(t);
  const pair = await makePair(app.runtime);
  const document = (await app.http.inject('/openapi.json')).json();
  const operation: Operation = document.paths['/v1/socket'].get;
  const ajv = new Ajv2020({ strict: false, validateFormats: false }).addSchema(document, 'api');
  const describes = (side: 'server' | 'client') => {
    const isValid = ajv.getSchema(`api${operation['x-frames']?.[side]?.$ref}`);
    assert.ok(isValid);
    return (frame: object) => assert.ok(isValid(frame), `${JSON.stringify(frame)}: ${ajv.errorsText(isValid.errors)}`);
  };
  const [fromServer, fromClient] = [describes('server'), describes('client')];
  const auth = { type: 'auth', token: await socketToken(app, pair), after: 0 };
  const ping = { type: 'ping' };
  for (const frame of [auth, ping]) fromClient(frame);

  await recordTips(app, pair.creatorId, 1);
  const { webSocket, frames } = connect(t, app.address, null);
  webSocket.on('open', () => webSocket.send(JSON.stringify(auth)));
  await until('the event has come', () => frames.length === 2);
  webSocket.send(JSON.stringify(ping));
  await until('the ping was answered', () => frames.length === 3);
  await app.drain({ socketsMs: 0 });
  await until('the client is asked to reconnect', () => frames.length === 4);
  assert.deepEqual(
    frames.map(({ type }) => type),
    ['welcome', 'event', 'keepalive', 'reconnect'],
  );
  for (const frame of frames) fromServer(frame);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fastify } from 'fastify';
import { Type } from 'typebox';
import { apiDocument } from '../../api-document.ts';
import { protectedErrors } from '../../features/oauth/index.ts';
import { collectOpenApi } from './openapi.ts';

test('a route below /v1 that lacks a guard or its words is refused, and others are left alone', () => {
  const app = fastify();
  collectOpenApi(app, apiDocument({ baseUrl: 'https://api.tips.example', authUrl: 'https://tips.example' }));
  const handler = () => 'seen';
  const words = { operationId: 'seeThing', summary: 'A thing', description: 'As it is.', tags: ['Tips'] };
  assert.throws(() => app.get('/v1/bare', handler), {
    message:
      'GET /v1/bare needs an operationId, a summary, a description, a tag of the API document, a guard such as `protect`',
  });
  assert.throws(() => app.get('/v1/open', { schema: words, handler }), {
    message: 'GET /v1/open needs a guard such as `protect`',
  });
  const config = { protection: { scope: null, limit: 'read' } } as const;
  const response = { 200: { title: 'Thing', type: 'object' } };
  assert.throws(() => app.get('/v1/guarded', { config, schema: { ...words, response }, handler }), {
    message: 'GET /v1/guarded needs its errors, such as `protectedErrors`, a responseExample',
  });
  const ofScope = { 200: Type.Null(), ...protectedErrors('tips.read') };
  assert.throws(() => app.get('/v1/scoped', { config, schema: { ...words, response: ofScope }, handler }), {
    message: 'GET /v1/scoped needs the errors of its guard’s scope, such as `protectedErrors(null)`',
  });
  const ofTips = { protection: { scope: 'tips.create', limit: 'read' } } as const;
  assert.throws(() => app.get('/v1/scoped', { config: ofTips, schema: { ...words, response: ofScope }, handler }), {
    message: 'GET /v1/scoped needs the errors of its guard’s scope, such as `protectedErrors("tips.create")`',
  });
  app.get('/pages/thing', handler);
  app.get('/v1/itself', { config: { checksItself: true }, schema: words, handler });
});

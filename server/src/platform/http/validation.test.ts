import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fastify } from 'fastify';
import { Type } from './type.ts';
import { compileValidator, createCheck } from './validation.ts';

test('of a list that is far too long few items are looked at, and the other fields as ever', () => {
  const schema = Type.Object({ list: Type.Array(Type.String(), { maxItems: 3 }), name: Type.String() });
  const check = createCheck(schema);
  const details = check({ list: Array(30_000).fill(0), name: 5 });
  assert.equal(
    details.filter(({ field }) => field === 'list').length,
    5,
    'four wrong items, and that they are too many',
  );
  assert.equal(details.filter(({ field }) => field === 'name').length, 1);
  assert.deepEqual(check({ list: ['a', 'b', 'c'], name: 'd' }), []);
  assert.equal(check({ list: ['a', 'b', 'c', 'd'], name: 'd' }).length, 1);
});

test('headers that a schema has checked are read without a copy of them all', async () => {
  const app = fastify();
  app.setValidatorCompiler(compileValidator);
  const headers = Type.Object({ 'idempotency-key': Type.Optional(Type.String()) });
  app.get('/', { schema: { headers } }, async (request) => ({ same: request.headers === request.raw.headers }));
  const answer = await app.inject({ url: '/', headers: { 'idempotency-key': 'a' } });
  assert.deepEqual(answer.json(), { same: true });
});

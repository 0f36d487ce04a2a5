import assert from 'node:assert/strict';
import { test } from 'node:test';
import Fastify from 'fastify';
import { contentSecurityPolicy, pageHeaders } from './headers.ts';

async function headersOf(https: boolean, url = '/') {
  const app = Fastify();
  app.register(async (scope) => {
    pageHeaders(scope, { https });
    scope.get('/', () => 'page');
    scope.get('/broken', () => {
      throw new Error('broken');
    });
    scope.get('/consent', (_request, reply) =>
      reply
        .header('content-security-policy', contentSecurityPolicy({ 'form-action': ['https://app.example'] }))
        .send(''),
    );
  });
  app.get('/v1', () => 'api');
  return (await app.inject(url)).headers;
}

test('every page of the scope carries the strict headers, also when it breaks', async () => {
  for (const url of ['/', '/broken']) {
    const headers = await headersOf(true, url);
    assert.equal(
      headers['content-security-policy'],
      "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; font-src 'self'; " +
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    );
    assert.equal(headers['cache-control'], 'no-store');
    assert.equal(headers['x-content-type-options'], 'nosniff');
    assert.equal(headers['referrer-policy'], 'same-origin');
    assert.equal(headers['cross-origin-opener-policy'], 'same-origin');
    assert.match(String(headers['permissions-policy']), /camera=\(\)/);
    assert.equal(headers['strict-transport-security'], 'max-age=31536000');
  }
});

test('no promise of https without it, and nothing outside the scope', async () => {
  assert.equal((await headersOf(false))['strict-transport-security'], undefined);
  assert.equal((await headersOf(true, '/v1'))['content-security-policy'], undefined);
});

test('a page adds sources of its own', async () => {
  const consent = String((await headersOf(true, '/consent'))['content-security-policy']);
  assert.match(consent, /form-action 'self' https:\/\/app\.example;/);
  assert.match(contentSecurityPolicy({ 'frame-ancestors': ["'self'"] }), /frame-ancestors 'self'$/);
  assert.match(contentSecurityPolicy({ 'media-src': ["'self'"] }), /; media-src 'self'$/);
  assert.match(contentSecurityPolicy(), /frame-ancestors 'none'$/);
});

test('a source cannot smuggle in another directive', () => {
  for (const source of ['https://a.example; script-src *', 'a b', 'a,b', 'a\r\nb']) {
    assert.throws(() => contentSecurityPolicy({ 'form-action': [source] }), /Not a source/);
  }
});

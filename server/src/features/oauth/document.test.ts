import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../../../test/build-app.ts';

interface Operation {
  operationId: string;
  security: object[];
  requestBody?: { content: Record<string, { schema: object; example?: unknown; examples?: object }> };
  responses: Record<string, { content?: Record<string, { example?: unknown; examples?: object }> }>;
}

test('the API document has every OAuth endpoint with both kinds of body, examples and all errors', async (t) => {
  const { http } = await buildApp(t);
  const { paths } = (await http.inject({ url: '/openapi.json' })).json();
  for (const path of ['token', 'revoke', 'introspect', 'device_authorization']) {
    const operation: Operation = paths[`/v1/oauth/${path}`].post;
    assert.deepEqual(operation.security, [{ client: [] }, {}]);
    assert.deepEqual(Object.keys(operation.responses), ['200', '400', '401', '413', '415', '429', '500', '502']);
    assert.deepEqual(Object.keys(operation.requestBody?.content ?? {}), [
      'application/json',
      'application/x-www-form-urlencoded',
    ]);
    for (const media of Object.values(operation.requestBody?.content ?? {})) assert.ok(media.example ?? media.examples);
    for (const [status, { content }] of Object.entries(operation.responses)) {
      const json = content?.['application/json'];
      assert.ok(json?.example ?? json?.examples, `${path} ${status}`);
    }
  }
  const errors = paths['/v1/oauth/token'].post.responses['400'].content['application/json'];
  assert.deepEqual(errors.schema, { $ref: '#/components/schemas/OAuthError' });
  assert.deepEqual(Object.keys(errors.examples), [
    'invalid_request',
    'invalid_grant',
    'invalid_scope',
    'authorization_pending',
    'slow_down',
    'access_denied',
    'expired_token',
    'unsupported_grant_type',
  ]);
  for (const path of ['/.well-known/oauth-authorization-server', '/.well-known/jwks.json'])
    assert.ok(paths[path].get.responses['200'].content['application/json'].example);
});

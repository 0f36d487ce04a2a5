import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allScopes } from '../src/features/oauth/index.ts';
import { buildApp, type TestApp } from './build-app.ts';
import { makePair, type Pair } from './factories.ts';

/** One request of a table and what must come back. */
export interface ApiCase {
  readonly name: string;
  readonly url?: string;
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'HEAD' | 'PATCH' | 'OPTIONS';
  /** A JSON value, or a text that is sent unchanged. */
  readonly body?: unknown;
  readonly raw?: string | Buffer;
  readonly headers?: Record<string, string>;
  readonly scope?: string;
  /** Made ready beforehand; what it answers replaces parts of the case. */
  readonly before?: (app: TestApp, pair: Pair) => Promise<Partial<ApiCase>> | Promise<void>;
  readonly status: number;
  readonly code?: string;
  /** Fields that `details` must name, each broken rule once. */
  readonly fields?: readonly (string | null)[];
  readonly check?: (answer: Answer, app: TestApp, pair: Pair) => void | Promise<void>;
}

export interface Answer {
  readonly statusCode: number;
  readonly headers: Record<string, string | number | string[] | undefined>;
  readonly body: string;
  readonly json: () => ReturnType<typeof JSON.parse>;
}

/** Runs each case, and checks what every response of /v1 must contain. */
export function apiTable(endpoint: string, defaults: Pick<ApiCase, 'url' | 'method'>, cases: readonly ApiCase[]): void {
  test(endpoint, async (t) => {
    const app = await buildApp(t);
    for (const given of cases) {
      await t.test(given.name, async () => {
        const pair = await makePair(app.runtime, given.scope === undefined ? {} : { scope: given.scope });
        const wanted = { ...defaults, ...given, ...((await given.before?.(app, pair)) ?? {}) };
        const answer = await send(app, pair, wanted);
        assert.equal(answer.statusCode, wanted.status, answer.body);
        assertCommonHeaders(answer);
        if (wanted.code !== undefined) assertError(answer, wanted);
        await assertDeclared(app, wanted, answer);
        await wanted.check?.(answer, app, pair);
      });
    }
  });
}

export function send(
  { http }: Pick<TestApp, 'http'>,
  pair: Pick<Pair, 'headers'>,
  request: Partial<ApiCase>,
): Promise<Answer> {
  const payload = request.raw ?? (request.body === undefined ? undefined : JSON.stringify(request.body));
  return http.inject({
    method: request.method ?? 'GET',
    url: request.url ?? '/',
    headers: {
      ...pair.headers,
      ...(payload === undefined ? {} : { 'content-type': 'application/json' }),
      ...Object.fromEntries(Object.entries(request.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value])),
    },
    ...(payload === undefined ? {} : { payload }),
  });
}

function assertCommonHeaders({ headers }: Answer): void {
  assert.match(String(headers['x-request-id']), /^req_[0-9a-hjkmnp-tv-z]{26}$/);
  assert.equal(headers['cache-control'], 'no-store');
  assert.equal(headers['x-content-type-options'], 'nosniff');
  assert.equal(headers['access-control-allow-origin'], undefined);
}

function assertError(answer: Answer, { code, fields, status }: ApiCase): void {
  const { error } = answer.json();
  assert.equal(error.code, code);
  assert.equal(error.request_id, answer.headers['x-request-id']);
  assert.ok(error.message.length > 10);
  if (status === 401) assert.match(String(answer.headers['www-authenticate']), /^Bearer/);
  if (fields)
    assert.deepEqual(error.details.map(({ field }: { field: string | null }) => field).sort(), [...fields].sort());
  else if (code !== 'validation_failed') assert.equal(error.details, undefined);
}

type Operations = Readonly<
  Record<string, { responses: Record<string, { content: Record<string, { examples: object }> }> }>
>;

/** The API document names each error that an operation answers. Another method is no operation. */
export async function assertDeclared(
  { http }: Pick<TestApp, 'http'>,
  { method = 'GET', url = '/' }: Pick<ApiCase, 'method' | 'url'>,
  answer: Answer,
): Promise<void> {
  if (answer.statusCode < 400) return;
  const paths: Readonly<Record<string, Operations>> = (await http.inject('/openapi.json')).json().paths;
  const [path = ''] = url.split('?');
  // A path without a parameter wins.
  const [name = ''] = Object.keys(paths)
    .filter((each) => new RegExp(`^${each.replace(/\{\w+\}/g, '[^/]+')}$`).test(path))
    .sort((a, b) => a.split('{').length - b.split('{').length);
  const operation = paths[name]?.[method.toLowerCase()];
  if (operation === undefined) return;
  const declared = Object.keys(operation.responses[answer.statusCode]?.content?.['application/json']?.examples ?? {});
  const { code } = answer.json().error;
  assert.ok(declared.includes(code), `${method} ${name} answers ${code}, which its route does not declare as an error`);
}

/** What every protected endpoint refuses in the same way. */
export function guardCases(scope: string | null): ApiCase[] {
  return [
    { name: 'no token', headers: { authorization: '' }, status: 401, code: 'token_missing' },
    { name: 'another scheme', headers: { authorization: 'Basic YTpi' }, status: 401, code: 'token_missing' },
    { name: 'a token that is none', headers: { authorization: 'Bearer abc' }, status: 401, code: 'token_invalid' },
    {
      name: 'an expired token',
      status: 401,
      code: 'token_expired',
      before: async ({ clock }) => clock.advance(3_600_000),
    },
    {
      name: 'a revoked grant',
      status: 403,
      code: 'grant_unusable',
      before: async ({ runtime }, { creatorId, clientId }) => {
        await runtime.grants.revoke(creatorId, clientId, 'operator');
      },
    },
    {
      name: 'a suspended app',
      status: 403,
      code: 'grant_unusable',
      before: async ({ runtime: { grants } }, { clientId }) => {
        await grants.suspend('app', clientId, 1);
      },
    },
    {
      name: 'a suspended creator',
      status: 403,
      code: 'grant_unusable',
      before: async ({ runtime: { grants } }, { creatorId }) => {
        await grants.suspend('creator', creatorId, 1);
      },
    },
    ...(scope === null
      ? []
      : [
          {
            name: 'a missing scope',
            scope: allScopes.filter((other) => other !== scope).join(' '),
            status: 403,
            code: 'insufficient_scope',
            check: (answer: Answer) =>
              assert.equal(answer.json().error.message, `This endpoint requires scope: ${scope}`),
          },
        ]),
    {
      name: 'another method',
      method: 'DELETE',
      status: 405,
      code: 'method_not_allowed',
      check: (answer) => assert.ok(answer.headers.allow),
    },
    {
      name: 'another method without a token',
      method: 'PUT',
      headers: { authorization: '' },
      status: 405,
      code: 'method_not_allowed',
    },
  ];
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InjectOptions } from 'fastify';
import { buildApp } from '../build-app.ts';
import { makeApp, makePair } from '../factories.ts';
import { signedInVisitor } from '../visitor.ts';

/** What a path or a query might carry that no database, log or page should stumble over. */
const oddities = [
  '%00',
  'a%00b',
  '%ff',
  '%',
  '%ed%a0%80',
  "'",
  '%F0%9F%98%80',
  '..%2f..',
  '%0d%0aX:%20y',
  'x'.repeat(5000),
];

const pages = [
  '/@{name}',
  '/docs/{guide}',
  '/avatars/{id}',
  '/overlay/{key}',
  '/developers/apps/{id}',
  '/developers/apps/{id}/webhooks/{webhook}',
  '/developers/apps/OWN/webhooks/{webhook}',
  '/developers/apps/OWN/webhooks/{webhook}/deliveries/{delivery}',
  '/login?return_to={address}',
  '/dashboard/tips?q={text}&cursor={cursor}',
  '/dashboard/tips?from={from}&to={to}&min={least}&max={most}&app={app}',
  '/dashboard/tips.csv?q={text}&from={from}',
  '/developers/apps/OWN/webhooks/HOOK?before={before}&status={status}',
];

/** Every page that shows something by its query, or might. */
const withoutQuery = [
  '/',
  '/login',
  '/login/recovery',
  '/signup',
  '/account',
  '/dashboard',
  '/dashboard/tips',
  '/dashboard/tips.csv',
  '/dashboard/overlay',
  '/dashboard/apps',
  '/dashboard/profile',
  '/developers',
  '/developers/apps/OWN',
  '/developers/apps/OWN/webhooks',
  '/developers/apps/OWN/webhooks/new',
  '/developers/apps/OWN/webhooks/HOOK',
  '/docs',
  '/docs/oauth',
  '/oauth/authorize',
  '/@MALI',
  '/openapi.json',
  '/readyz',
];
const parameters =
  'after app before client_id code_challenge code_challenge_method cursor from lang limit max min q redirect_uri response_type return_to scope state status to ui_locales'.split(
    ' ',
  );

test('no path or query, however odd, is an error of ours', async (t) => {
  const app = await buildApp(t);
  const { runtime, http, clock } = app;
  const pair = await makePair(runtime);
  const own = await makeApp(runtime, 'Own', pair.creatorId);
  const hook = await runtime.webhooks.add(own.clientId, {
    url: 'https://hook.example/',
    types: null,
    description: null,
  });
  const creator = await runtime.accounts.byId(pair.creatorId);
  const fill = (page: string) =>
    page.replace('OWN', own.clientId).replace('HOOK', hook.id).replace('MALI', String(creator?.username));
  const visitor = await signedInVisitor(app, pair.creatorId);
  const basic = `Basic ${Buffer.from(`${pair.clientId}:${pair.clientSecret}`).toString('base64')}`;
  const { paths } = (await http.inject('/openapi.json')).json();

  const calls: InjectOptions[] = [];
  for (const [path, operations] of Object.entries<Record<string, { parameters?: { in: string; name: string }[] }>>(
    paths,
  ).filter(([path]) => path.startsWith('/v1/')))
    for (const [method, { parameters = [] }] of Object.entries(operations))
      for (const odd of oddities) {
        const authorization = path.startsWith('/v1/webhooks') ? basic : pair.headers.authorization;
        const queries = parameters.filter((parameter) => parameter.in === 'query').map(({ name }) => `${name}=${odd}`);
        if (!path.includes('{') && queries.length === 0) continue;
        const url = `${path.replaceAll(/\{\w+\}/g, odd)}?${queries.join('&')}`;
        calls.push({ method: method.toUpperCase() as 'GET', url, headers: { authorization } });
      }
  for (const call of calls) {
    // Ten pings, retries and replays a minute.
    clock.advance(String(call.url).startsWith('/v1/webhooks') ? 6_000 : 1_000);
    if (String(call.url).startsWith('/v1/events/stream')) continue;
    const answer = await http.inject(call);
    const summary = `${call.method} ${String(call.url).slice(0, 200)}: ${answer.statusCode}`;
    assert.ok([404, 415, 422, 426].includes(answer.statusCode), summary);
    assert.equal(answer.headers.x, undefined, summary);
  }

  for (const page of pages)
    for (const odd of oddities) {
      const answer = await visitor.get(fill(page).replaceAll(/\{\w+\}/g, odd));
      assert.ok(answer.statusCode < 500, `${page} ${odd.slice(0, 50)}: ${answer.statusCode}`);
      assert.equal(answer.headers.x, undefined);
    }

  for (const page of withoutQuery)
    for (const queries of [
      parameters.map((name) => `${name}=a&${name}=b`),
      parameters.map((name) => `${name}=&${name}=`),
      parameters.map((name) => `${name}[]=a&${name}[x]=b`),
      ...parameters.map((name) => [`${name}=a&${name}=b`]),
    ]) {
      const url = `${fill(page)}?${queries.join('&')}`;
      clock.advance(60_000);
      const answer = await visitor.get(url);
      assert.ok(answer.statusCode < 500, `${url}: ${answer.statusCode}`);
    }
  const repeated = await visitor.get(`${fill('/developers/apps/OWN/webhooks/HOOK')}?before=a&before=b`);
  assert.equal(repeated.statusCode, 422);
  assert.match(String(repeated.headers['content-type']), /^text\/html/);
});

/** A page whose handler asks for no session is open to anybody, and no test of that page needs to notice. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../test/build-app.ts';
import { makeCreator } from '../test/factories.ts';
import { routesOf } from '../test/routes-of.ts';
import { createVisitor, signedInVisitor } from '../test/visitor.ts';

/** Routes that answer without a session, by the reason. */
const open: Readonly<Record<string, RegExp>> = {
  'the API has guards of its own': /^\w+ \/v1\//,
  'anybody may read it': /^GET \/($|docs\b|@:username|openapi\.json$|\.well-known\/)/,
  'signs in or out': /^\w+ \/(login|signup|logout)\b/,
  'refuses a wrong request of an app before it asks': /^GET \/oauth\/authorize$/,
  'a key in the address or in the first message is the permission': /^\w+ \/(overlay|moderate|socket\.io)\//,
  'files by ids that nobody can guess, and files of the pages': /^GET \/((avatars|app-logos|overlay-files)\/:id$|\*$)/,
  'for the balancer': /^GET \/(healthz|readyz)$/,
  'leads to its list, which asks': /^GET \/dashboard\/connections\/keys$/,
};

test('every page and every form asks for a session, except those that are listed as open', async (t) => {
  const app = await buildApp(t);
  const stranger = createVisitor(app);
  await stranger.get('/login');
  const routes = [...routesOf(app)].flatMap(([path, methods]) =>
    methods.filter((method) => method !== 'HEAD').map((method) => `${method} ${path}`),
  );
  const answers: string[] = [];
  for (const route of routes) {
    if (Object.values(open).some((pattern) => pattern.test(route))) continue;
    const [method, url = ''] = route.replace(/:\w+/g, '1').split(' ');
    const { statusCode, headers } = method === 'GET' ? await stranger.get(url) : await stranger.post(url);
    const asks = statusCode === 303 && headers.location?.startsWith('/login?return_to=');
    if (!asks) answers.push(`${route} answers ${statusCode}`);
  }
  const rule = 'without a session; call pages.requireSession(request) first, or list the route as open in this file';
  assert.deepEqual(answers, [], rule);
  const unused = Object.keys(open).filter((reason) => !routes.some((route) => open[reason]?.test(route)));
  assert.deepEqual(unused, [], 'this file lists routes as open that are not there');
});

test('every entry of the menu leads to a page', async (t) => {
  const app = await buildApp(t);
  const visitor = await signedInVisitor(app, (await makeCreator(app.runtime)).creatorId);
  const [menu = ''] = /<nav class="sections".+?<\/ul>/s.exec((await visitor.get('/dashboard')).body) ?? [];
  const links = [...menu.matchAll(/href="([^"]+)"/g)].map(([, href = '']) => href);
  assert.ok(links.includes('/dashboard'));
  for (const href of links)
    assert.equal((await visitor.get(href)).statusCode, 200, `${href} of \`navigation\` in server/src/app.ts`);
});

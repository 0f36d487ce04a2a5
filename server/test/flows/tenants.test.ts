/**
 * Every route with another's ids. Two tenants have everything that the program knows: the first one's texts carry a mark.
 * The second one calls each registered route, with the first one's ids where it has parameters: no answer contains the
 * mark, each has the status of the contract, and no row of the first one changes.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InjectOptions } from 'fastify';
import { tables } from '../../src/platform/db/tables.ts';
import type { Runtime } from '../../src/runtime.ts';
import { buildApp } from '../build-app.ts';
import { basic, makeApp, makeCreator, makePair } from '../factories.ts';
import { routesOf } from '../routes-of.ts';
import { signedInVisitor } from '../visitor.ts';

/** One of everything: what it is called, and the ids by which it might be asked for. */
async function makeTenant(runtime: Runtime, name: string) {
  const { tips, goals, screening, moderators, overlays, webhooks, signIn, sessions } = runtime;
  const creator = await makeCreator(runtime, name.toLowerCase());
  const { creatorId } = creator;
  const app = await makeApp(runtime, `App of ${name}`, creatorId);
  await runtime.apps.edit(creatorId, app.clientId, {
    name: `App of ${name}`,
    redirectUris: ['https://app.example/callback'],
    description: `About ${name}`,
  });
  const pair = await makePair(runtime, { creator, app });
  await screening.change(creatorId, (rules) => ({
    ...rules,
    lists: [{ id: name, title: `List of ${name}`, words: [`${name}word`], except: [], match: 'words', action: 'mask' }],
    hold: { ...rules.hold, everything: true },
  }));
  const tip = { creatorId, app: null, amount: 5, name: name.toUpperCase(), displayName: name, message: `by ${name}` };
  const { tip: held } = await tips.record(tip);
  await screening.change(creatorId, (rules) => ({ ...rules, hold: { ...rules.hold, everything: false } }));
  const { tip: queued } = await tips.record(tip);
  const goal = await goals.add(creatorId, {
    title: `Goal of ${name}`,
    targetMinor: 100_000,
    startsAt: 0,
    endsAt: null,
  });
  const moderatorKey = await moderators.add(creatorId, `Helper of ${name}`);
  const [moderator] = await moderators.list(creatorId);
  const webhook = await webhooks.add(app.clientId, {
    url: 'https://hook.example/x',
    types: null,
    description: `of ${name}`,
  });
  const ping = await webhooks.deliveries.ping(app.clientId, webhook.id);
  const failed = {
    id: `req_${'0'.repeat(26)}`,
    method: 'GET',
    path: `/v1/${name}`,
    status: 404,
    code: 'x',
    fields: '[]',
  };
  runtime.failures.record(app.clientId, (at) => ({ ...failed, at }));
  await runtime.failures.flush();
  const connection = await runtime.connections.add(creatorId, {
    kind: 'kofi',
    url: `https://bot.example/${name}`,
    label: `Bot of ${name}`,
  });
  await runtime.connections.test(creatorId, connection.id);
  const [message] = (await runtime.connections.deliveries(creatorId, connection.id)).deliveries;
  await runtime.streamKeys.make(creatorId, { label: `Key of ${name}` });
  const [streamKey] = await runtime.streamKeys.list(creatorId);
  const sandbox = await runtime.sandbox.create(creatorId, `Sandbox of ${name}`);
  await signIn.begin(creatorId, 'password', { address: '192.0.2.1', userAgent: `Browser of ${name}` });
  const [session] = await sessions.list(creatorId);
  return {
    ...pair,
    name,
    held: held.id,
    queued: queued.id,
    goal: goal?.id ?? '',
    moderator: moderator?.id ?? '',
    moderatorKey: moderatorKey ?? '',
    overlayKey: await overlays.key(creatorId),
    webhook: webhook.id,
    delivery: ping.id,
    connection: connection.id,
    message: message?.id ?? '',
    streamKey: streamKey?.id ?? '',
    sandbox: sandbox.id,
    session: session?.id ?? '',
    list: name,
  };
}
type Tenant = Awaited<ReturnType<typeof makeTenant>>;

/** What stands for the parameters of a route: the other's, or one's own where that is how one is let in. */
const parameters = (route: string, other: Tenant, own: Tenant): Record<string, string> => {
  if (route.startsWith('/v1/tips/')) return { id: other.queued };
  if (route.includes('/webhooks/:id') && route.startsWith('/v1'))
    return { id: other.webhook, delivery: other.delivery };
  if (route.startsWith('/overlay/:key')) return { key: own.overlayKey, widget: 'latest' };
  if (route.startsWith('/moderate/:key')) return { key: own.moderatorKey, id: other.held };
  if (route.startsWith('/account/sessions/')) return { id: other.session };
  if (route.startsWith('/account/passkeys/')) return { id: 'cGFzc2tleQ' };
  if (route.startsWith('/dashboard/screening/lists/')) return { id: other.list, kind: 'words' };
  if (route.startsWith('/dashboard/tips/')) return { id: other.queued };
  if (route.startsWith('/dashboard/overlay/')) return { tipId: other.queued, sequence: '2', name: 'calm', from: '0' };
  if (route.startsWith('/dashboard/live/moderators/')) return { id: other.moderator };
  if (route.startsWith('/dashboard/live/')) return { id: other.held };
  if (route.startsWith('/dashboard/goals/')) return { id: other.goal };
  if (route.startsWith('/dashboard/apps/')) return { clientId: other.clientId };
  if (route.startsWith('/dashboard/connections/new/')) return { kind: 'discord' };
  if (route.startsWith('/dashboard/connections/keys/')) return { id: other.streamKey };
  if (route.startsWith('/dashboard/connections/')) return { id: other.connection, delivery: other.message };
  if (route.startsWith('/developers/sandbox/'))
    return { id: other.sandbox, clientId: other.clientId, eventId: `evt_${other.queued.slice(4)}` };
  if (route.startsWith('/developers/'))
    return { clientId: other.clientId, id: other.webhook, delivery: other.delivery };
  return {};
};

/** By unguessable ids of public files, or public by name: nobody's secret. */
const isPublic = (route: string): boolean =>
  /^\/(avatars|overlay-files|app-logos)\/:id$|^\/docs|^\/@:username|^\*$|^\/\*$/.test(route);

/** Does not end, or ends the session of the one who asks. */
const isLeftOut = (route: string): boolean => /\/stream$|^\/logout$|socket$|end-others$/.test(route);

/** A page that changes things leads back to its list where there is nothing to change, or finds a fault with the form. */
const refusals = (route: string): number[] => (/^\/(v1|developers)\//.test(route) ? [404] : [404, 303, 422]);

async function rowsOf({ db }: Runtime, { creatorId, clientId }: Tenant): Promise<Record<string, unknown[]>> {
  const rows: Record<string, unknown[]> = {};
  for (const [table, { owner }] of Object.entries(tables)) {
    if (!owner) continue;
    const [column, id] = 'creator' in owner ? [owner.creator, creatorId] : [owner.app, clientId];
    rows[table] = await db.all(`SELECT * FROM ${table} WHERE ${column} = $1`, [id]);
  }
  return rows;
}

test('security 23: no route gives or changes anything of another tenant', async (t) => {
  const app = await buildApp(t);
  const { http, runtime } = app;
  const [other, own] = [await makeTenant(runtime, 'Zaphodmark'), await makeTenant(runtime, 'Trillian')];
  const visitor = await signedInVisitor(app, own.creatorId);
  const before = await rowsOf(runtime, other);

  async function call(route: string, method: string, path: string) {
    const isPage = !route.startsWith('/v1/') && !route.startsWith('/overlay/:key');
    if (isPage)
      return method === 'POST' ? visitor.post(path, { title: 'x', url: 'https://a.example' }) : visitor.get(path);
    const headers = route.startsWith('/v1/webhooks') ? basic(own) : route.startsWith('/v1/') ? own.headers : {};
    const acks = [{ sequence: 2, outcome: 'shown' }];
    const span = { from: '2026-11-01', to: '2026-11-30' };
    const payload = { instance: '00000000-0000-4000-8000-000000000001', acks, ...span };
    return http.inject({
      method: method as NonNullable<InjectOptions['method']>,
      url: path,
      headers,
      ...(method === 'GET' ? {} : { payload }),
    });
  }

  for (const [route, methods] of routesOf(app)) {
    if (isPublic(route) || isLeftOut(route)) continue;
    const names = [...route.matchAll(/:([A-Za-z]+)/g)].map(([, name]) => name ?? '');
    const values = parameters(route, other, own);
    for (const name of names) assert.ok(values[name], `which ${name} of another is ${route} called with?`);
    // With one's own app before another's webhook as well.
    const paths = [
      values,
      { ...values, ...(names.length > 1 && values.clientId ? { clientId: own.clientId } : {}) },
    ].map((each) => route.replace(/:([A-Za-z]+)/g, (_, name: string) => encodeURIComponent(each[name as never] ?? '')));
    for (const path of new Set(paths))
      for (const method of methods.filter((each) => each !== 'HEAD')) {
        const { statusCode, body } = await call(route, method, path);
        assert.ok(!/zaphodmark/i.test(body), `${method} ${path} shows what is another’s`);
        assert.ok(statusCode < 500, `${method} ${path} ${statusCode}`);
        if (Object.values(other).some((id) => typeof id === 'string' && path.includes(encodeURIComponent(id))))
          assert.ok(refusals(route).includes(statusCode), `${method} ${path} ${statusCode}`);
      }
  }
  assert.deepEqual(await rowsOf(runtime, other), before);
  const owner = await signedInVisitor(app, other.creatorId);
  assert.match((await owner.get(`/dashboard/tips/${other.queued}`)).body, /Zaphodmark/, 'the owner sees it');
});

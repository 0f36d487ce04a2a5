import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { buildApp } from '../build-app.ts';
import { makeCreator } from '../factories.ts';
import { signedInVisitor } from '../visitor.ts';

async function open(t: TestContext) {
  const app = await buildApp(t);
  const { creatorId } = await makeCreator(app.runtime);
  const { clientId } = await app.runtime.apps.add({
    name: 'Goal Bot',
    redirectUris: ['https://app.example/callback'],
    ownerId: creatorId,
  });
  const visitor = await signedInVisitor(app, creatorId);
  const webhooks = `/developers/apps/${clientId}/webhooks`;
  const { db } = app.runtime;
  return {
    visitor,
    webhooks,
    count: async (table: Table) => Number((await db.get<{ count: number }>(counts[table]))?.count),
    /** The form of a page, as a browser would send it. */
    keyOf: async (page: string) => {
      const key = /name="key" value="([^"]+)"/.exec((await visitor.get(page)).body)?.[1];
      assert.ok(key, page);
      return key;
    },
  };
}

const counts = {
  goals: 'SELECT COUNT(*) AS count FROM goals',
  moderator_links: 'SELECT COUNT(*) AS count FROM moderator_links',
  apps: 'SELECT COUNT(*) AS count FROM apps',
  webhook_endpoints: 'SELECT COUNT(*) AS count FROM webhook_endpoints',
  tips: 'SELECT COUNT(*) AS count FROM tips',
  stream_keys: 'SELECT COUNT(*) AS count FROM stream_keys',
  connections: 'SELECT COUNT(*) AS count FROM webhook_endpoints WHERE creator_id IS NOT NULL',
};
type Table = keyof typeof counts;

interface Form {
  readonly table: Table;
  readonly page: string;
  readonly action: string;
  readonly fields: Record<string, string>;
  readonly other: Record<string, string>;
}

const forms = (webhooks: string): Form[] => [
  {
    table: 'goals',
    page: '/dashboard/goals',
    action: '/dashboard/goals',
    // Without a time the goal starts at the time of the request, which is another for the second one.
    fields: { title: 'Mic', target: '100', starts: '', ends: '' },
    other: { title: 'Lamp' },
  },
  {
    table: 'moderator_links',
    page: '/dashboard/live',
    action: '/dashboard/live/moderators',
    fields: { title: 'Ann' },
    other: { title: 'Bee' },
  },
  {
    table: 'apps',
    page: '/developers/apps/new',
    action: '/developers/apps',
    fields: { name: 'Deck', redirect_uris: 'https://deck.example/callback' },
    other: { name: 'Timer' },
  },
  {
    table: 'webhook_endpoints',
    page: `${webhooks}/new`,
    action: webhooks,
    fields: { url: 'https://93.184.216.34/hook', description: '' },
    other: { description: 'second' },
  },
  {
    table: 'tips',
    page: '/dashboard/tips/new',
    action: '/dashboard/tips/new',
    fields: { amount: '50', from: 'ANN', message: '' },
    other: {},
  },
  {
    table: 'stream_keys',
    page: '/dashboard/connections',
    action: '/dashboard/connections/keys',
    fields: { name: 'OBS', minimum: '' },
    other: { name: 'Bot' },
  },
  {
    table: 'connections',
    page: '/dashboard/connections/new/kofi',
    action: '/dashboard/connections/new/kofi',
    fields: { url: 'https://93.184.216.34/kofi', label: '', minAmount: '' },
    other: { label: 'second' },
  },
];

for (const { table } of forms(''))
  test(`a form that is sent twice makes one of ${table}, also at the same time`, async (t) => {
    const { visitor, webhooks, count, keyOf } = await open(t);
    const form = forms(webhooks).find((each) => each.table === table);
    assert.ok(form);
    const before = await count(table);
    const fields = { ...form.fields, key: await keyOf(form.page) };
    const answers = await Promise.all(Array.from({ length: 3 }, () => visitor.post(form.action, fields)));
    answers.push(await visitor.post(form.action, fields));
    for (const { statusCode, body } of answers) assert.ok(statusCode < 400, `${statusCode} ${body}`);
    assert.equal(await count(table), before + 1);
    const secrets = answers.map(({ body }) => /(nj[skm]_\w{43}|whsec_[\w+/=]+)/.exec(body)?.[0]).filter(Boolean);
    const shown = ['goals', 'tips', 'connections'].includes(table) ? 0 : 1;
    assert.equal(secrets.length, shown, 'a secret is shown by the answer that made it');

    if (Object.keys(form.other).length > 0) {
      await visitor.post(form.action, { ...fields, ...form.other });
      assert.equal(await count(table), before + 2, 'other fields are another thing');
    }
    await visitor.post(form.action, { ...fields, key: await keyOf(form.page) });
    await visitor.post(form.action, { ...form.fields });
    assert.equal(await count(table), before + (Object.keys(form.other).length > 0 ? 4 : 3), 'another page, or no key');
  });

test('a key with a time of the sender’s choice does not date what the form makes', async (t) => {
  const { visitor } = await open(t);
  const future = `frm_7zzzzzzzzz${'0'.repeat(16)}`;
  const [form] = forms('');
  assert.ok(form);
  await visitor.post(form.action, { ...form.fields, key: future });
  const { body } = await visitor.get(form.page);
  assert.match(body, /gol_0/);
  assert.doesNotMatch(body, /gol_7/);
});

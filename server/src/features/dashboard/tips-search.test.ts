import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp, type TestApp } from '../../../test/build-app.ts';
import { makeCreator, makePair } from '../../../test/factories.ts';
import { makeManyTips } from '../../../test/many-tips.ts';
import { createVisitor, signedInVisitor, type Visitor } from '../../../test/visitor.ts';
import { allTips } from '../tips/index.ts';

const day = (date: string) => `2026-11-${date}T05:00:00.000Z`;

/** What is recorded before the searches, by its name. */
const history = [
  { at: '2026-10-31T16:59:59.999Z', name: 'OCTOBER', amount: 1, displayName: null, message: null, byApp: false },
  { at: '2026-10-31T17:00:00.000Z', name: 'NOVEMBER', amount: 2, displayName: null, message: '', byApp: false },
  { at: day('02'), name: 'SOMCHAI', amount: 150.5, displayName: 'สมชาย ใจดี', message: 'Great STREAM!', byApp: true },
  { at: day('03'), name: 'P ANN', amount: 150.51, displayName: null, message: '100% น้ำใจ_ล้วน', byApp: true },
  { at: day('04'), name: 'ÉMILE', amount: 100000, displayName: 'Émile Ångström', message: "O'Neil \\ %", byApp: false },
  { at: '2026-11-05T16:59:59.999Z', name: 'LATE', amount: 20, displayName: null, message: 'น้ํา', byApp: false },
];

async function recordAll({ runtime, clock }: TestApp, creatorId: string, app: { id: string; name: string }) {
  for (const { at, byApp, ...tip } of history) {
    clock.set(at);
    await runtime.tips.record({ creatorId, app: byApp ? app : null, ...tip });
  }
  clock.set('2026-11-15T04:00:00.000Z');
}

/** The rows of the list, by their tips' ids; as names in these tests. */
async function namesIn(app: TestApp, body: string): Promise<string[]> {
  const ids = [...body.matchAll(/data-key="(\w+)"/g)].map((match) => match[1] ?? '');
  const rows = await app.runtime.db.all<{ id: string; name: string }>('SELECT id, name FROM tips');
  return ids.map((id) => rows.find((row) => row.id === id)?.name ?? '');
}

test('a search finds what was asked for and nothing else', async (t) => {
  const app = await buildApp(t);
  const pair = await makePair(app.runtime);
  const other = await makeCreator(app.runtime);
  await recordAll(app, pair.creatorId, { id: pair.clientId, name: 'Goal Bot' });
  await app.runtime.tips.record({
    ...{ creatorId: other.creatorId, app: null, amount: 150.5 },
    ...{ name: 'NOT MINE', displayName: 'สมชาย', message: 'great stream' },
  });
  const [late] = (await app.runtime.tips.page(pair.creatorId, allTips, null, 1)).tips;
  await app.runtime.tips.void(pair.creatorId, late?.id ?? '', { clientId: null, reason: null });
  const visitor = await signedInVisitor(app, pair.creatorId);
  const all = history.map(({ name }) => name).reverse();

  const cases: [query: Record<string, string>, names: string[]][] = [
    [{}, all],
    [{ q: '', app: '', from: '', to: '', min: '', max: '' }, all],
    [{ q: 'somchai' }, ['SOMCHAI']],
    [{ q: 'สมชาย' }, ['SOMCHAI']],
    [{ q: '  stream   ใจดี ' }, ['SOMCHAI']],
    [{ q: 'stream ann' }, []],
    [{ q: 'émile ångström' }, ['ÉMILE']],
    [{ q: 'ＳＯＭＣＨＡＩ' }, ['SOMCHAI']],
    [{ q: '%' }, ['ÉMILE', 'P ANN']],
    [{ q: '100%' }, ['P ANN']],
    [{ q: '_' }, ['P ANN']],
    [{ q: '\\' }, ['ÉMILE']],
    [{ q: "o'neil" }, ['ÉMILE']],
    [{ q: '"; DROP TABLE tips; --' }, []],
    [{ q: 'น้ํา' }, ['LATE', 'P ANN']],
    [{ q: 'น้ำ' }, ['LATE', 'P ANN']],
    [{ app: 'cli' }, ['LATE', 'ÉMILE', 'NOVEMBER', 'OCTOBER']],
    [{ app: 'creator' }, []],
    [{ status: 'recorded' }, all.slice(1)],
    [{ status: 'voided' }, ['LATE']],
    [{ app: pair.clientId }, ['P ANN', 'SOMCHAI']],
    [{ min: '150.5', max: '150.5' }, ['SOMCHAI']],
    [{ min: '150.51' }, ['ÉMILE', 'P ANN']],
    [{ min: '฿100,000' }, ['ÉMILE']],
    [{ max: '2' }, ['NOVEMBER', 'OCTOBER']],
    [{ max: '0' }, []],
    [{ from: '2026-11-01', to: '2026-11-02' }, ['SOMCHAI', 'NOVEMBER']],
    [{ to: '2026-10-31' }, ['OCTOBER']],
    [{ from: '2026-11-05' }, ['LATE']],
    [{ from: '2026-11-06' }, []],
    [{ q: 'a', app: pair.clientId, from: '2026-11-03', to: '2026-11-03', min: '1', max: '1000' }, ['P ANN']],
  ];
  for (const [query, names] of cases) {
    const page = await visitor.get(`/dashboard/tips?${new URLSearchParams(query)}`);
    app.clock.advance(1000);
    assert.equal(page.statusCode, 200, JSON.stringify(query));
    assert.deepEqual(await namesIn(app, page.body), names, JSON.stringify(query));
    assert.equal(page.body.includes('No tips match'), names.length === 0, JSON.stringify(query));
  }
  // A question mark that an address does not escape belongs to the text.
  await app.runtime.tips.record({
    creatorId: pair.creatorId,
    app: null,
    amount: 5,
    name: 'ASKS',
    displayName: null,
    message: 'why?',
  });
  const address = '/dashboard/tips?q=why?&status=voided';
  assert.deepEqual(await namesIn(app, (await visitor.get(address)).body), []);
  const file = await visitor.get(address.replace('tips?', 'tips.csv?'));
  assert.equal(file.body.trimEnd().split('\r\n').length, 1, file.body);
});

test('what cannot be searched for is said beside its field, in words, and kept', async (t) => {
  const app = await buildApp(t);
  const visitor = await signedInVisitor(app, (await makeCreator(app.runtime)).creatorId);
  const cases: [query: string, field: string][] = [
    ['from=2026-11-31', 'from'],
    ['from=yesterday', 'from'],
    ['to=2026-11-15T00:00:00Z', 'to'],
    ['from=2026-11-02&to=2026-11-01', 'to'],
    ['min=-1', 'min'],
    ['min=1.001', 'min'],
    ['max=1e5', 'max'],
    ['min=5&max=4.99', 'max'],
    ['app=app_unknown', 'app'],
  ];
  for (const [query, field] of cases) {
    const page = await visitor.get(`/dashboard/tips?${query}&q=%3Cb%3E`);
    app.clock.advance(1000);
    assert.equal(page.statusCode, 422, query);
    assert.deepEqual(
      [...page.body.matchAll(/id="field-(\w+)-error"/g)].map((match) => match[1]),
      [field],
      query,
    );
    assert.match(page.body, /value="&#60;b&#62;"/);
    const file = await visitor.get(`/dashboard/tips.csv?${query}`);
    assert.equal(file.statusCode, 303, `${query}: no file`);
  }
  const stranger = await createVisitor(app).get('/dashboard/tips?q=x');
  assert.equal(stranger.headers.location, '/login?return_to=%2Fdashboard%2Ftips%3Fq%3Dx');
});

/** Where the page's own link to older tips leads. */
function next(body: string): string | undefined {
  const addresses = [...body.matchAll(/href="([^"]+)"/g)].map(([, escaped = '']) =>
    escaped.replace(/&#(\d+);/g, (_, code) => String.fromCharCode(code)),
  );
  return addresses.find((each) => /^\/dashboard\/tips\?.*cursor=/.test(each));
}

async function walk(app: TestApp, visitor: Visitor, url: string) {
  const pages: { names: string[]; body: string }[] = [];
  for (let at: string | undefined = url; at; ) {
    const { body } = await visitor.get(at);
    pages.push({ names: await namesIn(app, body), body });
    at = next(body);
  }
  return pages;
}

test('pages follow each other without a gap, and a cursor is good for its own search alone', async (t) => {
  const app = await buildApp(t);
  const { creatorId } = await makeCreator(app.runtime);
  const other = await makeCreator(app.runtime);
  await makeManyTips(app.runtime, creatorId, 101);
  const visitor = await signedInVisitor(app, creatorId);
  const pages = await walk(app, visitor, '/dashboard/tips?q=tip');
  assert.deepEqual(
    pages.map(({ names }) => names.length),
    [50, 50, 1],
  );
  assert.deepEqual(
    pages.flatMap(({ names }) => names),
    Array.from({ length: 101 }, (_, index) => `TIP ${101 - index}`),
  );
  const second = next(pages[0]?.body ?? '') ?? '';
  const foreign = await signedInVisitor(app, other.creatorId);
  for (const [who, url] of [
    [visitor, second.replace('q=tip', 'q=ti')],
    [visitor, `${second}A`],
    [visitor, '/dashboard/tips?cursor='],
    [foreign, second],
  ] as const)
    assert.equal((await who.get(url)).statusCode, 422, url);
});

test('a search looks at ten thousand tips, then says how far it came and goes on from there', async (t) => {
  const app = await buildApp(t);
  const { creatorId } = await makeCreator(app.runtime);
  await makeManyTips(app.runtime, creatorId, 10_100);
  const visitor = await signedInVisitor(app, creatorId);
  const pages = await walk(app, visitor, '/dashboard/tips?max=1.50');
  assert.deepEqual(
    pages.map(({ names }) => names.length),
    [0, 50],
    'amounts grow by a satang, so the smallest are the oldest',
  );
  assert.match(pages[0]?.body ?? '', /None so far/);
  assert.match(pages[0]?.body ?? '', /Search further back/);
  assert.doesNotMatch(pages[1]?.body ?? '', /further back/);
});

test('who has no tips yet is told how to get one, who finds none how to search', async (t) => {
  const app = await buildApp(t);
  const visitor = await signedInVisitor(app, (await makeCreator(app.runtime)).creatorId);
  const all = (await visitor.get('/dashboard/tips')).body;
  assert.match(all, /No tips yet[\s\S]*href="\/dashboard\/tips\/new"/);
  assert.doesNotMatch(all, /No tips match/);
  assert.match((await visitor.get('/dashboard/tips?q=x')).body, /No tips match/);
});

test('sixty searches a minute', async (t) => {
  const app = await buildApp(t);
  const visitor = await signedInVisitor(app, (await makeCreator(app.runtime)).creatorId);
  for (let i = 0; i < 60; i++) assert.equal((await visitor.get('/dashboard/tips')).statusCode, 200);
  const refused = await visitor.get('/dashboard/tips');
  assert.deepEqual([refused.statusCode, refused.headers['retry-after']], [429, '60']);
});

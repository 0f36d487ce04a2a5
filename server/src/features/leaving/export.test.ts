import assert from 'node:assert/strict';
import { readFileSync, readlinkSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { assertBelow } from '../../../test/assert-below.ts';
import { buildApp, type TestApp } from '../../../test/build-app.ts';
import { runCommand } from '../../../test/cli-process.ts';
import { makeCreator, makePair } from '../../../test/factories.ts';
import { makeManyTips } from '../../../test/many-tips.ts';
import { columnsOf, fillTables, ownedTables } from '../../../test/marked-rows.ts';
import { unzip } from '../../../test/unzip.ts';
import { signedInVisitor } from '../../../test/visitor.ts';
import { migrations } from '../../platform/db/migrations/index.ts';
import { type TablePolicy, tables } from '../../platform/db/tables.ts';
import { jsonColumns } from './export.ts';
import { exportedTables, nextRows, type Row } from './export-repo.ts';

const archiveOf = async ({ runtime }: TestApp, creator: { creatorId: string; username: string }) =>
  unzip(await buffer((await runtime.exports.archive({ id: creator.creatorId, username: creator.username })).bytes));

test('the archive has every exported column of every table, no other one, and nothing of another creator', async (t) => {
  const app = await buildApp(t);
  const { db } = app.runtime;
  const [mine, other] = [await makeCreator(app.runtime), await makeCreator(app.runtime)];
  await fillTables(db, mine.creatorId, 'mine');
  await fillTables(db, other.creatorId, 'other');
  const files = await archiveOf(app, mine);
  const everything = [...files.values()].join('\n');
  assert.doesNotMatch(everything, /other\./);
  for (const { table } of ownedTables) {
    const { exported }: TablePolicy = tables[table as keyof typeof tables];
    const rows = JSON.parse(files.get(`${table}.json`)?.toString() ?? 'null');
    if (typeof exported === 'object' && 'not' in exported) {
      assert.equal(rows, null, `${table} is exported`);
      continue;
    }
    assert.ok(rows?.length > 0, `${table} is missing`);
    const without = typeof exported === 'object' ? exported.without : [];
    for (const { name } of await columnsOf(db, table)) {
      assert.equal(Object.hasOwn(rows[0], name), !without.includes(name), `${table}.${name}`);
      assert.ok(!without.includes(name) || !everything.includes(`mine.${table}.${name}`), `${table}.${name}`);
    }
  }
});

test('a creator gets it as one file after a recent sign-in: JSON as such, times to read, uploads as files', async (t) => {
  const app = await buildApp(t);
  const pair = await makePair(app.runtime);
  const { tip } = await app.runtime.tips.record({
    creatorId: pair.creatorId,
    app: { id: pair.clientId, name: 'Goal Bot' },
    amount: 150.5,
    name: 'SOMCHAI',
    displayName: 'สมชาย',
    message: '[not JSON]',
  });
  const png = Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  );
  await app.runtime.profiles.setAvatar(pair.creatorId, png);
  await app.runtime.goals.add(pair.creatorId, { title: 'A chair', targetMinor: 100_000, startsAt: 0, endsAt: null });
  const visitor = await signedInVisitor(app, pair.creatorId);
  assert.match((await visitor.get('/account')).body, /href="\/account\/data"/);
  assert.match((await visitor.get('/account/data')).body, /action="\/account\/data\/export"/);
  const answer = await visitor.post('/account/data/export');
  assert.deepEqual(
    ['content-type', 'content-disposition', 'cache-control'].map((name) => answer.headers[name]),
    ['application/zip', `attachment; filename="namjai-${pair.username}-2026-11-15.zip"`, 'no-store'],
  );
  const files = unzip(answer.rawPayload);
  const read = (name: string) => JSON.parse(files.get(name)?.toString() ?? 'null');
  const [row] = read('tips.json');
  assert.deepEqual(
    [row.id, row.amount_minor, row.display_name, row.message, row.created_at],
    [tip.id, 15050, 'สมชาย', '[not JSON]', '2026-11-15T04:00:00.000Z'],
  );
  assert.equal(read('events.json')[0].body.data.tip.id, tip.id);
  assert.match(files.get('tips.csv')?.toString() ?? '', /150\.50,THB,"SOMCHAI","สมชาย"/);
  const [goal] = read('goals.json');
  assert.deepEqual([goal.title, goal.starts_at, goal.ends_at], ['A chair', null, null]);
  const [avatar] = read('avatars.json');
  assert.ok((files.get(avatar.bytes)?.length ?? 0) > 0, avatar.bytes);
  const [grant] = read('grants.json');
  const { name: appName } = await app.runtime.apps.byId(pair.clientId);
  assert.deepEqual([grant.client_id, grant.app_name], [pair.clientId, appName]);
  for (const { at, client_id, app_name } of read('audit.json')) {
    assert.match(at, /^2026-11-15T.*Z$/);
    assert.equal(app_name, client_id === null ? null : appName);
  }
  assert.ok(read('audit.json').length > 0);
  const explained = files.get('README.txt')?.toString() ?? '';
  for (const name of files.keys())
    if (/^\w+\.(json|csv)$/.test(name)) assert.ok(explained.includes(`\n${name}: `), `${name} is not explained`);
});

test('security 53: without a recent sign-in there is no export, and one account makes only few', async (t) => {
  const app = await buildApp(t);
  const { creatorId } = await makeCreator(app.runtime);
  const visitor = await signedInVisitor(app, creatorId);
  const statuses: number[] = [];
  for (let i = 0; i < 4; i++) statuses.push((await visitor.post('/account/data/export')).statusCode);
  assert.deepEqual(statuses, [200, 200, 200, 429]);
  app.clock.advance(10 * 60_000 + 1);
  const page = await visitor.get('/account/data');
  assert.doesNotMatch(page.body, /data\/export/);
  assert.match(page.body, /return_to&#61;%2Faccount%2Fdata/);
  assert.match(String((await visitor.post('/account/data/export')).headers.location), /^\/login\?/);
});

test('a long history is there to the last row, in order', async (t) => {
  const app = await buildApp(t);
  const creator = await makeCreator(app.runtime);
  await makeManyTips(app.runtime, creator.creatorId, 1201);
  const files = await archiveOf(app, creator);
  const rows: { sequence: number }[] = JSON.parse(files.get('tips.json')?.toString() ?? '');
  assert.deepEqual(
    rows.map(({ sequence }) => sequence),
    Array.from({ length: 1201 }, (_, i) => i + 1),
  );
  assert.equal(files.get('tips.csv')?.toString().trimEnd().split('\r\n').length, 1202);
});

test('security 41: the last rows of a long history are found as quickly as the first', async (t) => {
  const { runtime } = await buildApp(t);
  const { db } = runtime;
  const { creatorId } = await makeCreator(runtime);
  await makeManyTips(runtime, creatorId, 30_000);
  const table = (await exportedTables(db)).find(({ name }) => name === 'tips');
  assert.ok(table);
  /** Returns how long this thread was busy. */
  const read = async (sequence: number): Promise<number> => {
    const position = 'SELECT creator_id, created_at, sequence FROM tips WHERE creator_id = $1 AND sequence = $2';
    const last = await db.get<Row>(position, [creatorId, sequence]);
    assert.ok(last);
    const before = process.threadCpuUsage();
    for (let i = 0; i < 50; i++) assert.equal((await nextRows(db, table, ['id'], creatorId, last, 10)).length, 10);
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1000;
  };
  await read(1);
  const first = await read(1);
  await assertBelow('ms for the last rows', 3 * first + 30, () => read(29_900));
});

test('the operator’s command writes a file that nobody else may read, and replaces none', async (t) => {
  const app = await buildApp(t);
  await app.runtime.accounts.add({ username: 'malee', password: 'a long password' });
  const file = join(app.directory, 'malee.zip');
  const first = await runCommand(app.env, 'creator', 'export', 'malee', file, '--json');
  assert.deepEqual([first.code, JSON.parse(first.out).file], [0, file], first.err);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const [creator] = JSON.parse(unzip(readFileSync(file)).get('creators.json')?.toString() ?? '');
  assert.deepEqual([creator.username, creator.password_hash], ['malee', undefined]);
  assert.match((await runCommand(app.env, 'creator', 'export', 'malee', file)).err, /exists already/);
  assert.match((await runCommand(app.env, 'creator', 'export', 'nobody', `${file}.2`)).err, /no creator named/);
  // As if another program had made the file while the archive was written.
  const taken = `${file}.3`;
  symlinkSync('nowhere', taken);
  const late = await runCommand(app.env, 'creator', 'export', 'malee', taken);
  assert.deepEqual([late.code, readlinkSync(taken)], [1, 'nowhere'], late.out);
  assert.match(late.err, /exists already/);
});

test('every exported column of JSON is exported as JSON', () => {
  const text = migrations.map(({ sql }) => (typeof sql === 'string' ? sql : sql.postgres)).join('\n');
  const declared = [...text.matchAll(/(?:CREATE TABLE|ALTER TABLE) (\w+)([^;]*);/g)].flatMap(
    ([, table = '', body = '']) => [...body.matchAll(/(\w+) \{json\}/g)].map(([, column = '']) => ({ table, column })),
  );
  assert.ok(declared.length > 10);
  for (const { table, column } of declared) {
    const { exported }: TablePolicy = tables[table as keyof typeof tables];
    const hidden = typeof exported === 'object' && ('not' in exported || exported.without.includes(column));
    assert.ok(hidden || jsonColumns.has(column), `${table}.${column} is JSON: name it in jsonColumns`);
  }
});

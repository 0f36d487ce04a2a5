import assert from 'node:assert/strict';
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { until } from '../../../../sdk/test/until.ts';
import { createTestClock } from '../../../test/build-app.ts';
import { fillDisk, needsMount, smallDisk } from '../../../test/small-disk.ts';
import { executeAll } from '../../../test/sql.ts';
import { temporaryDirectory } from '../../../test/temporary-directory.ts';
import { migrate } from './migrate.ts';
import { openSqlite } from './sqlite.ts';
import { checkCopy } from './sqlite-backup.ts';
import { createCopies, outdated } from './sqlite-copies.ts';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

async function setup(t: Parameters<typeof temporaryDirectory>[0], directory = join(temporaryDirectory(t), 'copies')) {
  const file = join(temporaryDirectory(t), 'namjai.db');
  const db = openSqlite({ file });
  t.after(() => db.close());
  await migrate(db);
  const clock = createTestClock();
  const registry = new Registry();
  const options = { file, directory, everyMs: 10 * minute, clock, registry };
  const copies = createCopies(options);
  const names = (): string[] => readdirSync(directory).sort();
  return { file, db, clock, copies, directory, names, options, registry };
}

test('a copy is made when the newest is old enough, also by another process, and not before', async (t) => {
  const { copies, clock, names, options } = await setup(t);
  await Promise.all([copies.tick(), copies.tick()]);
  assert.deepEqual(names(), ['namjai-2026-11-15T04-00-00-000Z.db']);
  clock.advance(10 * minute - 1);
  await copies.tick();
  assert.equal(names().length, 1);
  const restarted = createCopies({ ...options, registry: new Registry() });
  await restarted.tick();
  assert.equal(names().length, 1);
  clock.advance(1);
  await restarted.tick();
  assert.deepEqual(names(), ['namjai-2026-11-15T04-00-00-000Z.db', 'namjai-2026-11-15T04-10-00-000Z.db']);
});

test('a copy has what was committed before it, and is whole', async (t) => {
  const { db, copies, directory, names } = await setup(t);
  await executeAll(db, ['INSERT INTO meta (key, value) VALUES ($1, $2)', ['a', 'b']]);
  await copies.tick();
  const file = join(directory, names()[0] ?? '');
  const { problems, schema } = checkCopy(file, 'full');
  assert.deepEqual(problems, []);
  assert.match(schema ?? '', /^\d{4}-/);
  const copy = openSqlite({ file });
  t.after(() => copy.close());
  assert.ok(await copy.get('SELECT value FROM meta WHERE key = $1', ['a']));
});

test('under `node --watch`, which has threads report what they import, a copy is whole too', async (t) => {
  process.env.WATCH_REPORT_DEPENDENCIES = '1';
  t.after(() => delete process.env.WATCH_REPORT_DEPENDENCIES);
  const { copies, directory, names } = await setup(t);
  await copies.tick();
  assert.deepEqual(checkCopy(join(directory, names()[0] ?? ''), 'full').problems, []);
});

test('copies are thinned out by age, and end after 30 days', () => {
  const now = Date.UTC(2026, 10, 15, 4);
  const every = (ms: number, span: number): number[] =>
    Array.from({ length: Math.floor(span / ms) }, (_, index) => now - index * ms);
  const all = every(10 * minute, 40 * day);
  const thin = (instants: readonly number[], at: number): number[] => {
    const old = new Set(outdated(instants, at));
    return instants.filter((each) => !old.has(each));
  };
  // At once, and step by step as time passes.
  let stepwise: number[] = [];
  for (const at of all.toReversed()) stepwise = thin([...stepwise, at], at);
  for (const kept of [thin(all, now), stepwise]) {
    const ages = kept.map((at) => now - at).sort((a, b) => a - b);
    assert.deepEqual(
      ages.filter((age) => age < hour),
      [0, 10, 20, 30, 40, 50].map((minutes) => minutes * minute),
    );
    const hourly = ages.filter((age) => age >= hour && age < day).length;
    const daily = ages.filter((age) => age >= day).length;
    assert.ok(hourly >= 23 && hourly <= 24, String(hourly));
    assert.ok(daily >= 29 && daily <= 30, String(daily));
    assert.ok(Math.max(...ages) < 30 * day);
  }
});

test('other files in the folder stay, and copies of the future do not hold up new ones', async (t) => {
  const { copies, clock, directory, names } = await setup(t);
  await copies.tick();
  writeFileSync(join(directory, 'namjai-precious.db'), 'mine');
  const [made = ''] = names();
  renameSync(join(directory, made), join(directory, 'namjai-2027-01-01T00-00-00-000Z.db'));
  await copies.tick();
  assert.ok(names().includes(made));
  clock.advance(31 * day);
  await copies.tick();
  assert.deepEqual(
    names().filter((name) => !name.startsWith('namjai-2026-12')),
    ['namjai-2027-01-01T00-00-00-000Z.db', 'namjai-precious.db'],
  );
});

test('a full disk fails the copy, leaves no part of it, and is tried again after a minute', needsMount, async (t) => {
  const disk = smallDisk(t, 2);
  const { copies, clock, names, registry } = await setup(t, disk);
  fillDisk(join(disk, 'other'));
  await assert.rejects(copies.tick());
  assert.deepEqual(names(), ['other']);
  assert.match(await registry.metrics(), /namjai_backup_failures_total 1/);
  assert.match(await registry.metrics(), /namjai_backup_interval_seconds 600/);
  rmSync(join(disk, 'other'));
  await copies.tick();
  assert.deepEqual(names(), []);
  clock.advance(minute);
  await copies.tick();
  assert.equal(names().length, 1);
});

test('a copy has its name only after it was read again, so one that is damaged never has it', async (t) => {
  const { file, copies, directory, names, registry } = await setup(t);
  const source = new DatabaseSync(file);
  source.enableDefensive(false);
  source.exec('CREATE TABLE odd (n INTEGER); INSERT INTO odd (n) VALUES (NULL); PRAGMA writable_schema = ON');
  source.exec("UPDATE sqlite_schema SET sql = 'CREATE TABLE odd (n INTEGER NOT NULL)' WHERE name = 'odd'");
  source.close();
  mkdirSync(directory);
  const seen = new Set<string | null>();
  const watcher = watch(directory, (_, name) => seen.add(name));
  t.after(() => watcher.close());
  await assert.rejects(copies.tick(), /the copy is damaged: NULL value in odd.n/);
  assert.deepEqual(names(), []);
  writeFileSync(join(directory, 'after it'), '');
  await until('all changes of the folder are known', () => seen.has('after it'));
  assert.deepEqual(
    [...seen].filter((name) => name?.startsWith('namjai-')),
    [],
  );
  assert.match(await registry.metrics(), /namjai_backup_failures_total 1/);
});

test('a damaged copy is told from a whole one', async (t) => {
  const { copies, directory, names } = await setup(t);
  await copies.tick();
  const whole = join(directory, names()[0] ?? '');
  const damaged = join(directory, 'damaged.db');
  const bytes = readFileSync(whole);
  // All pages after the first ones, where the schema is.
  bytes.fill(0x5a, bytes.length / 2);
  writeFileSync(damaged, bytes);
  assert.notDeepEqual(checkCopy(damaged, 'quick').problems, []);
  copyFileSync(whole, damaged);
  assert.deepEqual(checkCopy(damaged, 'quick').problems, []);
  writeFileSync(damaged, 'a letter, and no database '.repeat(100));
  assert.deepEqual(checkCopy(damaged, 'quick').problems, ['file is not a database']);
});

test('the age of the newest copy is told also if no further one can be made since the start', async (t) => {
  const { copies, clock, names, options, directory } = await setup(t);
  await copies.tick();
  const begun = clock() / 1000;
  clock.advance(20 * minute);
  const registry = new Registry();
  const restarted = createCopies({ ...options, file: join(directory, 'absent.db'), registry });
  await assert.rejects(restarted.tick());
  assert.match(await registry.metrics(), new RegExp(`^namjai_backup_last_success_timestamp_seconds ${begun}$`, 'm'));
  assert.equal(names().length, 1);
});

test('a file that somebody else has made is no copy of ours, whatever its schema computes', (t) => {
  const file = join(temporaryDirectory(t), 'gift.db');
  const gift = new DatabaseSync(file);
  gift.exec("CREATE VIEW schema_migrations AS SELECT 1 AS number, 'x' || char(27) || '[2J' AS name");
  gift.close();
  assert.deepEqual([checkCopy(file, 'full').schema, checkCopy(file, 'full').problems], [null, []]);
});

test('a partial file that another process has just removed, or a link to nowhere, fails no copy', async (t) => {
  const { copies, directory, names } = await setup(t);
  mkdirSync(directory);
  symlinkSync(join(directory, 'nowhere'), join(directory, '.namjai-x.part'));
  await copies.tick();
  assert.equal(names().filter((name) => name.startsWith('namjai-')).length, 1);
});

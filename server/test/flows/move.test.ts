import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { openPostgres } from '../../src/platform/db/postgres.ts';
import { createZone } from '../../src/platform/zone.ts';
import { makePair } from '../factories.ts';
import { assertLedger } from '../ledger.ts';
import { freshDatabase } from '../postgres.ts';
import { startServer } from '../server-process.ts';
import { withStore } from '../store.ts';
import { temporaryDirectory } from '../temporary-directory.ts';

const program = fileURLToPath(new URL('../../bin/namjai.js', import.meta.url));

interface Ended {
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
}

/** `namjai migrate --from … --to …`, told of each piece of progress. */
async function move(file: string, url: string, more: string[] = [], onProgress = (_pid: number) => {}): Promise<Ended> {
  const child = spawn(process.execPath, [program, 'migrate', '--from', `sqlite:${file}`, '--to', url, ...more]);
  let [output, errors] = ['', ''];
  child.stdout.on('data', (chunk) => (output += chunk));
  child.stderr.on('data', (chunk) => {
    errors += chunk;
    if (String(chunk).includes(' rows) ')) onProgress(child.pid!);
  });
  const [code] = await once(child, 'close');
  return { code, output, errors };
}

async function tablesOf(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query("SELECT tablename FROM pg_tables WHERE schemaname = 'public'");
  await client.end();
  return rows.map(({ tablename }) => tablename);
}

/** A store with a little of everything, and as many tips. */
async function makeStore(file: string, tips: number): Promise<void> {
  const env = { DATABASE_URL: `sqlite:${file}`, SECRET_KEY: 'a key that moves with the database' };
  const pair = await withStore(env, async (runtime) => {
    const pair = await makePair(runtime);
    await runtime.accounts.add({ username: 'mali', displayName: 'มะลิ 🌼', password: 'a good password' });
    await runtime.webhooks.add(pair.clientId, { url: 'https://a.example', types: ['tip.created'], description: null });
    return pair;
  });
  const db = new DatabaseSync(file);
  const numbers = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${tips})`;
  const { creatorId, clientId } = pair;
  const now = Date.now();
  const { key: month } = createZone('Asia/Bangkok').month(now);
  db.exec(`BEGIN;
    INSERT INTO tips (creator_id, sequence, created_at, id, amount_minor, name, display_name, message, client_id, app_name)
    ${numbers} SELECT '${creatorId}', i, ${now}, 'tip_' || i, i, 'NOK',
      iif(i % 3, NULL, 'น้อง "นก" ' || i), iif(i % 2, '', 'back\\slash' || char(10) || '🎉' || i), '${clientId}', 'App' FROM n;
    INSERT INTO events (creator_id, sequence, created_at, id, type, body)
    ${numbers} SELECT '${creatorId}', i, ${now}, 'evt_' || i, 'tip.created',
      '{"sequence":' || i || ',"data":{"tip":{"id":"tip_' || i || '","amount_minor":' || i || '}}}' FROM n;
    UPDATE creator_heads SET sequence = ${tips}, last_at = ${now}, month = '${month}', tip_count = ${tips}, month_tip_count = ${tips},
      total_minor = ${(tips * (tips + 1)) / 2}, month_total_minor = ${(tips * (tips + 1)) / 2}
      WHERE creator_id = '${creatorId}';
    COMMIT`);
  db.close();
}

test('100,000 tips move from SQLite to PostgreSQL, row for row', async (t) => {
  const file = join(temporaryDirectory(t), 'namjai.db');
  await makeStore(file, 100_000);
  const url = await freshDatabase(t);
  const started = performance.now();
  const ended = await move(file, url);
  t.diagnostic(`moved in ${Math.round(performance.now() - started)} ms`);
  assert.equal(ended.code, 0, ended.errors);
  assert.match(ended.output, /100000 {2}tips/);
  assert.match(ended.errors, /^100 % \(\d+ of \d+ rows\)/m);

  const source = new DatabaseSync(file, { readOnly: true });
  const target = openPostgres({ url, withinMs: 60_000 });
  t.after(() => target.close());
  // How often tables have changed is kept for SQLite alone.
  const names = source
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'table_versions'")
    .all();
  assert.deepEqual((await tablesOf(url)).sort(), names.map(({ name }) => name).sort());
  for (const { name } of names) {
    if (name === 'schema_migrations') continue;
    const all = `SELECT * FROM "${name}"`;
    const here = source.prepare(all).all().map(asText).sort();
    const there = (await target.all<Record<string, unknown>>(all)).map(asText).sort();
    assert.equal(there.length, here.length, String(name));
    for (const [i, row] of there.entries()) assert.equal(row, here[i], String(name));
  }
  source.close();
  assert.equal((await assertLedger(target)).size, 100_000);

  const again = await move(file, url, ['--json']);
  assert.equal(again.code, 1);
  assert.equal(JSON.parse(again.errors).error.code, 'target_not_empty');
});

const asText = (row: Record<string, unknown>): string =>
  JSON.stringify(Object.entries(row).map(([key, value]) => [key, value instanceof Uint8Array ? [...value] : value]));

test('a move that is killed in the middle leaves nothing behind, and can be made again', async (t) => {
  const file = join(temporaryDirectory(t), 'namjai.db');
  await makeStore(file, 30_000);
  const url = await freshDatabase(t);
  let killed = false;
  const { code, errors } = await move(file, url, [], (pid) => {
    killed = true;
    process.kill(pid, 'SIGKILL');
  });
  assert.ok(killed && code === null, errors);
  assert.doesNotMatch(errors, /100 %/);
  assert.deepEqual(await tablesOf(url), []);
  assert.equal((await move(file, url)).code, 0);
  assert.ok((await tablesOf(url)).includes('tips'));
});

test('a source that a server runs on, is missing or is older is refused, and the target stays empty', async (t) => {
  const directory = temporaryDirectory(t);
  const file = join(directory, 'namjai.db');
  const url = await freshDatabase(t);
  const code = async (from: string) => JSON.parse((await move(from, url, ['--json'])).errors).error.code;
  assert.equal(await code(file), 'source_missing');
  assert.equal(existsSync(file), false);

  const server = await startServer({ env: { DATABASE_URL: `sqlite:${file}` } });
  t.after(() => server.kill());
  assert.equal(await code(file), 'source_in_use');
  assert.equal((await fetch(`${server.url}/readyz`)).status, 200, 'the server does not notice');
  await server.kill('SIGTERM');

  const db = new DatabaseSync(file);
  db.exec('DELETE FROM schema_migrations WHERE number = (SELECT MAX(number) FROM schema_migrations)');
  db.close();
  assert.equal(await code(file), 'source_schema');
  assert.deepEqual(await tablesOf(url), []);
});

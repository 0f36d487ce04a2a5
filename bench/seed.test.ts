import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { withStore } from '../server/test/store.ts';
import { temporaryDirectory } from '../server/test/temporary-directory.ts';
import { storeEnv } from './lib/namjai.ts';
import { seedTips } from './lib/seed-tips.ts';

test('a seeded store is as if its tips had been recorded', async (t) => {
  const file = join(temporaryDirectory(t), 'seeded.db');
  const steps: number[] = [];
  const people = await seedTips({
    file,
    tips: 1_003,
    creators: 4,
    events: true,
    onProgress: (done) => steps.push(done),
  });
  assert.equal(people.length, 4);
  assert.equal(steps.at(-1), 1_003);

  const creatorId = people[0]!.creatorId;
  const { recorded, stats } = await withStore(storeEnv(`sqlite:${file}`), async ({ tips, events }) => {
    const before = await tips.stats(creatorId);
    await tips.record({ creatorId, app: null, amount: 1, name: 'SOMCHAI', displayName: null, message: null });
    return { recorded: await events.after(creatorId, 250, 2), stats: before };
  });

  const db = new DatabaseSync(file, { readOnly: true });
  t.after(() => db.close());
  const sums = db
    .prepare(
      `SELECT count(*) AS count, sum(amount_minor) AS total, max(sequence) AS newest, min(sequence) AS oldest
       FROM tips WHERE creator_id = ? AND name = 'SEEDED'`,
    )
    .get(creatorId);
  assert.deepEqual({ ...sums }, { count: 251, total: stats.all_time.total_minor, newest: 251, oldest: 1 });
  assert.equal(stats.all_time.count, 251);
  assert.ok(stats.current_month.count > 0 && stats.current_month.count < 251, 'the history spans months');

  const events = db.prepare(`SELECT * FROM events WHERE type = 'tip.created'`).all();
  assert.equal(events.length, 1_004);
  for (const { id, body, sequence, creator_id } of events) {
    const parsed = JSON.parse(String(body));
    assert.deepEqual([parsed.id, parsed.sequence, parsed.creator_id], [id, sequence, creator_id]);
    const tip = db.prepare('SELECT * FROM tips WHERE id = ?').get(parsed.data.tip.id);
    assert.deepEqual(
      [tip?.creator_id, tip?.sequence, tip?.amount_minor],
      [creator_id, sequence, parsed.data.tip.amount_minor],
    );
  }
  const [seeded, own] = recorded.map(({ body }) => JSON.stringify(keysOf(JSON.parse(body))));
  assert.equal(seeded, own, 'a seeded event has the fields of one that the server recorded');
});

test('a seeding that is broken off leaves nothing behind and says what to do', async (t) => {
  const folder = temporaryDirectory(t);
  const program = fileURLToPath(new URL('./seed.ts', import.meta.url));
  const child = spawn(process.execPath, [program, '--store', join(folder, 'big.db'), '--tips', '1000000000']);
  t.after(() => child.kill('SIGKILL'));
  let printed = '';
  child.stderr.on('data', (chunk) => {
    if (!printed.includes('tips') && String(chunk).includes('tips')) child.kill('SIGINT');
    printed += chunk;
  });
  const [code] = await once(child, 'close');
  assert.equal(code, 1);
  assert.match(printed, /0 % \(50000 of 1000000000 tips\), \d+\/s, .* left/);
  assert.match(printed, /Broken off; nothing was left behind/);
  assert.deepEqual(readdirSync(folder), []);
});

test('a store that exists is not touched', async (t) => {
  const file = join(temporaryDirectory(t), 'seeded.db');
  await seedTips({ file, tips: 1, creators: 1 });
  await assert.rejects(seedTips({ file, tips: 1, creators: 1 }), /exists already/);
  assert.deepEqual(readdirSync(join(file, '..')), ['seeded.db']);
});

/** The names of all fields, in their order. */
function keysOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return null;
  return Object.entries(value).map(([key, inner]) => [key, keysOf(inner)]);
}

import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../../../sdk/test/until.ts';
import { assertLedger } from '../ledger.ts';
import { namjai } from '../namjai.ts';
import { startServer } from '../server-process.ts';
import { makePairs, sameIssuer, withStore } from '../store.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { postTips } from '../tip-load.ts';

/** Before every real one: the next copy is due. */
const longAgo = 'namjai-2026-11-01T00-00-00-000Z.db';

test('kill -9 and a lost disk: the newest copy has everything that was answered before it was begun', async (t) => {
  const disk = join(temporaryDirectory(t), 'disk');
  const copies = temporaryDirectory(t);
  mkdirSync(disk);
  const file = join(disk, 'namjai.db');
  const SECRET_KEY = 'a key that is kept apart from the disk';
  const env = { ...sameIssuer, SECRET_KEY, DATABASE_URL: `sqlite:${file}`, BACKUP_DIR: copies, BACKUP_EVERY: '1' };
  const pairs = await withStore(env, (runtime) => makePairs(runtime, 10, 10));
  const server = await startServer({ env });
  t.after(() => server.kill());
  const before = await postTips(server.url, pairs, { count: 200, connections: 16 });
  assert.equal(before.recorded.length, 200);
  const lastAnswer = `namjai-${new Date().toISOString().replaceAll(/[:.]/g, '-')}.db`;
  /** One that was begun before the last answer does not count, also if it was ended after: another is due. */
  const newest = (): string | undefined => {
    const names = readdirSync(copies).filter((name) => name.startsWith('namjai-') && name !== longAgo);
    for (const name of names) if (name <= lastAnswer) renameSync(join(copies, name), join(copies, longAgo));
    return names
      .filter((name) => name > lastAnswer)
      .sort()
      .at(-1);
  };
  const load = postTips(server.url, pairs, { count: 4000, connections: 16 });
  const copy = await until('a copy is made', newest);
  await server.kill('SIGKILL');
  await load;
  rmSync(disk, { recursive: true });

  const { code, stderr } = await namjai({}, 'backup', 'verify', join(copies, copy));
  assert.equal(code, 0, stderr);
  mkdirSync(disk);
  copyFileSync(join(copies, copy), file);
  assert.ok(!existsSync(`${file}-wal`));
  const ids = await withStore(env, ({ db }) => assertLedger(db));
  for (const { id } of before.recorded) assert.ok(ids.has(id), `tip ${id} was answered before the copy and is gone`);
  const again = await startServer({ env });
  t.after(() => again.kill());
  const after = await postTips(again.url, pairs, { count: 10, connections: 2 });
  assert.ok([201, 429].some((status) => after.statuses.has(status)));
});

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../../../../sdk/test/until.ts';
import { buildApp, type TestApp } from '../../../test/build-app.ts';
import { makeCreator } from '../../../test/factories.ts';
import { makeManyTips } from '../../../test/many-tips.ts';
import { execute } from '../../../test/sql.ts';
import { temporaryDirectory } from '../../../test/temporary-directory.ts';
import { createDeletionsFile, createLeaving, createRowDeletion } from './index.ts';

const day = 86_400_000;

type Row = Record<string, string | number | null>;
const columns = 'id, username, display_name, deletion_asked_at, delete_at, suspended_at, created_at';

/** The deletions of a server that has continuous copies. */
function withCopies(app: TestApp) {
  const backups = join(app.directory, 'backups');
  mkdirSync(backups);
  let names = 0;
  const leavingWithCopies = createLeaving({
    ...app.runtime,
    // So slow that the lease has to be renewed.
    wait: async () => app.clock.advance(6000),
    rowDeletion: createRowDeletion(app.runtime),
    takenNames: {
      prepare: () => ({ id: `nam_${++names}`, sealed_key: Buffer.from('x'), mac: 'm', taken_until: 0 }),
      has: async () => false,
    },
    file: createDeletionsFile(backups),
  });
  const everybody = () => app.runtime.db.all<Row>(`SELECT ${columns} FROM creators`);

  /** The server starts with the accounts of a copy. */
  async function restore(copy: readonly Row[]): Promise<void> {
    const { db } = app.runtime;
    await execute(db, 'DELETE FROM account_deletions');
    await execute(db, 'DELETE FROM creators');
    for (const row of copy)
      await execute(db, `INSERT INTO creators (${columns}) VALUES ($1, $2, $3, $4, $5, $6, $7)`, Object.values(row));
    await leavingWithCopies.applyDeletions();
    await leavingWithCopies.tick();
  }

  return { backups, leavingWithCopies, everybody, restore };
}

test('a restored copy of the database loses whoever was deleted since, and keeps whoever stayed after all', async (t) => {
  const app = await buildApp(t);
  const { leaving, accounts, db } = app.runtime;
  const [gone, waiting, stayed, untouched] = [
    await makeCreator(app.runtime),
    await makeCreator(app.runtime),
    await makeCreator(app.runtime),
    await makeCreator(app.runtime),
  ];
  const { backups, leavingWithCopies, everybody } = withCopies(app);
  await makeManyTips(app.runtime, gone.creatorId, 500);
  await leavingWithCopies.ask(stayed.creatorId);
  const copied = await everybody();
  app.clock.advance(1000);
  await leavingWithCopies.restore(stayed.creatorId, 'owner');
  await leavingWithCopies.ask(gone.creatorId, true);
  const waitingUntil = await leavingWithCopies.ask(waiting.creatorId);
  await leavingWithCopies.tick();
  assert.equal(await accounts.byId(gone.creatorId), undefined);
  assert.deepEqual(readdirSync(backups), ['deletions.json']);
  assert.doesNotMatch(readFileSync(join(backups, 'deletions.json'), 'utf8'), /creator_\d/);

  // The state of the copy.
  await execute(db, 'DELETE FROM account_deletions');
  await execute(db, 'DELETE FROM audit');
  await execute(db, 'DELETE FROM creators');
  for (const row of copied)
    await execute(db, `INSERT INTO creators (${columns}) VALUES ($1, $2, $3, $4, $5, $6, $7)`, Object.values(row));
  const deleteAtOf = async ({ creatorId }: { creatorId: string }) => (await accounts.byId(creatorId))?.delete_at;
  assert.deepEqual([await deleteAtOf(waiting), (await deleteAtOf(stayed)) === null], [null, false]);
  await leavingWithCopies.applyDeletions();
  const rows = await app.runtime.audit.list({}, { limit: 10 });
  assert.deepEqual(
    new Set(rows.map(({ action, creator_id }) => `${action} ${creator_id}`)),
    new Set([
      `account.deletion_asked ${gone.creatorId}`,
      `account.deletion_asked ${waiting.creatorId}`,
      `account.restored ${stayed.creatorId}`,
    ]),
  );
  assert.equal(await deleteAtOf(gone), app.clock());
  assert.equal(await deleteAtOf(waiting), waitingUntil);
  assert.equal(await deleteAtOf(stayed), null);
  assert.equal((await accounts.byId(stayed.creatorId))?.suspended_at, null);
  assert.equal(await deleteAtOf(untouched), null);
  await leavingWithCopies.tick();
  assert.equal(await accounts.byId(gone.creatorId), undefined);
  // The same file does nothing more: the owner of the waiting account changes their mind.
  await leavingWithCopies.restore(waiting.creatorId, 'owner');
  await leavingWithCopies.applyDeletions();
  assert.equal(await deleteAtOf(waiting), null);
  assert.equal(await leaving.restore(untouched.creatorId, 'operator'), false);
});

test('what the file says is kept for as long as copies are, also by a database that never heard of the account', async (t) => {
  const app = await buildApp(t);
  const { accounts } = app.runtime;
  const { backups, leavingWithCopies, everybody, restore } = withCopies(app);
  const [gone, waiting, stayed] = [
    await makeCreator(app.runtime),
    await makeCreator(app.runtime),
    await makeCreator(app.runtime),
  ];
  await leavingWithCopies.ask(stayed.creatorId);
  const newerCopy = await everybody();
  app.clock.advance(1000);
  await leavingWithCopies.restore(stayed.creatorId, 'owner');
  await leavingWithCopies.ask(gone.creatorId, true);
  const waitingUntil = await leavingWithCopies.ask(waiting.creatorId);
  await leavingWithCopies.tick();

  // Before anybody had signed up, then after it.
  await restore([]);
  app.clock.advance(3600_000);
  await leavingWithCopies.tick();
  await restore(newerCopy);
  assert.equal(await accounts.byId(gone.creatorId), undefined);
  assert.equal((await accounts.byId(waiting.creatorId))?.delete_at, waitingUntil);
  const back = await accounts.byId(stayed.creatorId);
  assert.deepEqual([back?.delete_at, back?.suspended_at], [null, null]);

  const stored = () => readFileSync(join(backups, 'deletions.json'), 'utf8');
  await restore([]);
  app.clock.advance(30 * day);
  await leavingWithCopies.tick();
  assert.match(stored(), new RegExp(gone.creatorId));
  app.clock.advance(9 * day);
  await leavingWithCopies.tick();
  assert.deepEqual(JSON.parse(stored()), { erased: [], asked: [] }, 'no copy is so old');
});

test('a copy that knows only an earlier request to delete an account never deletes it earlier than was promised', async (t) => {
  const app = await buildApp(t);
  const { accounts } = app.runtime;
  const { leavingWithCopies, everybody, restore } = withCopies(app);
  const [again, stayed] = [await makeCreator(app.runtime), await makeCreator(app.runtime)];
  for (const { creatorId } of [again, stayed]) await leavingWithCopies.ask(creatorId);
  const copy = await everybody();
  app.clock.advance(2 * day);
  for (const { creatorId } of [again, stayed]) {
    await leavingWithCopies.restore(creatorId, 'owner');
    await leavingWithCopies.ask(creatorId);
  }
  const promised = app.clock() + 7 * day;
  await leavingWithCopies.restore(stayed.creatorId, 'owner');
  await leavingWithCopies.tick();

  app.clock.advance(6 * day);
  await restore(copy);
  assert.equal((await accounts.byId(again.creatorId))?.delete_at, promised);
  const kept = await accounts.byId(stayed.creatorId);
  assert.deepEqual([kept?.delete_at, kept?.suspended_at], [null, null]);
  // The owner can still change their mind.
  assert.equal(await leavingWithCopies.restore(again.creatorId, 'owner'), true);
  assert.equal((await accounts.byId(again.creatorId))?.suspended_at, null);
});

test('a request to delete an account counts also if the clock was set back after an earlier one', async (t) => {
  const app = await buildApp(t);
  const { leavingWithCopies, everybody, restore } = withCopies(app);
  const { creatorId } = await makeCreator(app.runtime);
  await leavingWithCopies.ask(creatorId);
  await leavingWithCopies.restore(creatorId, 'owner');
  await leavingWithCopies.tick();
  app.clock.advance(-60_000);
  await leavingWithCopies.ask(creatorId);
  await leavingWithCopies.tick();
  const promised = app.clock() + 7 * day;
  await restore(await everybody());
  assert.equal((await app.runtime.accounts.byId(creatorId))?.delete_at, promised);
});

test('a process that is killed while it writes the file of deletions leaves it whole', async (t) => {
  const directory = temporaryDirectory(t);
  const file = createDeletionsFile(directory);
  const module = new URL('./deletions-file.ts', import.meta.url);
  const program = `
    const { createDeletionsFile } = await import(${JSON.stringify(module.href)});
    const file = createDeletionsFile(${JSON.stringify(directory)});
    for (let i = 0; ; i++) {
      const erased = Array.from({ length: 2000 }, (_, n) => ({ creator_id: 'crt_' + n, erased_at: i }));
      file.record({ erased, asked: [] }, 0);
    }`;
  let reached = -1;
  for (let round = 0; round < 3; round++) {
    const child = spawn(process.execPath, ['--input-type=module', '--eval', program], { stdio: 'inherit' });
    t.after(() => child.kill('SIGKILL'));
    const at = () => file.read().erased[0]?.erased_at ?? -1;
    await until('it is being written', () => at() > reached);
    child.kill('SIGKILL');
    await once(child, 'exit');
    reached = at();
    assert.equal(file.read().erased.length, 2000);
  }
});

import assert from 'node:assert/strict';
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { rounds } from '../../test/rounds.ts';
import { seed, seeded } from '../../test/seeded.ts';
import { until } from '../../test/until.ts';
import { fileStore } from './file-store.ts';

const program = fileURLToPath(new URL('../../test/file-store-writer.ts', import.meta.url));
const kills = rounds(6);

function temporary(t: { after: (end: () => void) => void }): string {
  const directory = mkdtempSync(join(tmpdir(), 'namjai-lock-'));
  t.after(() => rmSync(directory, { recursive: true }));
  return join(directory, 'tokens.json');
}

test(`three writers, one killed in each of ${kills} rounds (seed ${seed}): no two write on one value`, async (t) => {
  const path = temporary(t);
  const random = seeded(seed);
  const written: { expected: string | null; value: string }[] = [];

  async function launch(): Promise<ChildProcess> {
    const child = fork(program, [path]);
    t.after(() => child.kill('SIGKILL'));
    await once(child, 'message');
    child.on('message', (message: { expected: string | null; value: string }) => written.push(message));
    return child;
  }

  const children = await Promise.all([launch(), launch(), launch()]);
  for (let kill = 0; kill < kills; kill += 1) {
    const before = written.length;
    await until('they write', () => written.length > before + 3);
    await sleep(random() * 20);
    const index = Math.floor(random() * children.length);
    children[index]?.kill('SIGKILL');
    children[index] = await launch();
  }
  const before = written.length;
  await until('they still write', () => written.length > before + 10);
  await Promise.all(
    children.map(async (child) => {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }),
  );
  assert.equal(new Set(written.map(({ expected }) => expected)).size, written.length);
  const store = fileStore(path);
  const last = Number.parseInt((await store.read('count')) ?? '', 10);
  const acknowledged = Math.max(...written.map(({ value }) => Number.parseInt(value, 10)));
  assert.ok(last >= acknowledged, 'what a writer was told is there');
  // What was written but not told of: at most one for each that was killed.
  assert.ok(last - written.length <= kills + children.length, `${last} ${written.length}`);
  t.diagnostic(`${written.length} writes`);
});

/** A lock that was left behind by a process that is described so. */
const leave = (path: string, holder: object) => writeFileSync(`${path}.lock`, JSON.stringify(holder));

test('a lock of a process that is gone is taken over at once, by one', async (t) => {
  const path = temporary(t);
  const child = fork(program, [path]);
  await once(child, 'message');
  // Its own lock file tells how this machine names it.
  const lock = await until('it holds the lock', () => {
    try {
      return JSON.parse(readFileSync(`${path}.lock`, 'utf8'));
    } catch {
      return undefined;
    }
  });
  child.kill('SIGKILL');
  await once(child, 'exit');
  for (const name of readdirSync(join(path, '..'))) rmSync(join(path, '..', name));
  for (const holder of [lock, { ...lock, pid: process.ppid, started: '1' }, { ...lock, started: null }]) {
    leave(path, { ...holder, token: crypto.randomUUID() });
    const before = await fileStore(path).read('key');
    const results = await Promise.all(
      Array.from({ length: 10 }, (_, index) => fileStore(path).write('key', `${crypto.randomUUID()} ${index}`, before)),
    );
    assert.equal(results.filter(Boolean).length, 1);
    assert.deepEqual(readdirSync(join(path, '..')), ['tokens.json']);
  }
});

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { withFileLock } from './file-lock.ts';
import { loadNode, type NodeModules } from './node.ts';

/** Holds the lock until `release` is called. */
function hold(node: NodeModules, path: string) {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: held, resolve: hold } = Promise.withResolvers<void>();
  const done = withFileLock(node, path, async () => {
    hold();
    await released;
  });
  return { held, release, done };
}

function temporary(t: { after: (end: () => void) => void }): string {
  const directory = mkdtempSync(join(tmpdir(), 'namjai-lock-'));
  t.after(() => rmSync(directory, { recursive: true }));
  return directory;
}

test('a process that was slow to take over a lock, which was then released, does not hold it', async (t) => {
  const directory = temporary(t);
  const path = join(directory, 'tokens.json');
  const node = await loadNode();
  // Left behind long ago.
  writeFileSync(`${path}.lock`, JSON.stringify({ token: 'dead', machine: 'elsewhere', pid: 1, started: null }));
  await node.fs.utimes(`${path}.lock`, 0, 0);

  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
  const { promise: goOn, resolve: wake } = Promise.withResolvers<void>();
  const link: NodeModules['fs']['link'] = async (from, to) => {
    if (String(to).endsWith('dead.next')) {
      stop();
      await goOn;
    }
    return node.fs.link(from, to);
  };
  const { promise: steppedBack, resolve: stepBack } = Promise.withResolvers<void>();
  const rm: NodeModules['fs']['rm'] = async (file, options) => {
    await node.fs.rm(file, options);
    if (String(file).endsWith('dead.next')) stepBack();
  };
  const slow = hold({ ...node, fs: { ...node.fs, link, rm } }, path);
  let slowHolds = false;
  const slowHeld = slow.held.then(() => {
    slowHolds = true;
  });
  await stopped;

  const quick = hold(node, path);
  await quick.held;
  quick.release();
  await quick.done;
  const next = hold(node, path);
  await next.held;
  wake();
  await Promise.race([steppedBack, slowHeld]);
  assert.equal(slowHolds, false, 'the other one holds it');
  next.release();
  await next.done;
  slow.release();
  await slow.done;
  assert.equal(slowHolds, true, 'and now it has its turn');
  assert.deepEqual(readdirSync(directory), []);
});

test('a lock of a process that lives, or that may live elsewhere, is waited for', async (t) => {
  const node = await loadNode();
  const mine = { machine: '', pid: 0, started: '' };
  for (const holder of [mine, { machine: 'elsewhere', pid: 1, started: '1' }]) {
    const path = join(temporary(t), 'tokens.json');
    // This process's parent lives, and its lock names it as this machine does.
    if (holder === mine) {
      const self = hold(node, path);
      await self.held;
      const { machine } = JSON.parse(readFileSync(`${path}.lock`, 'utf8'));
      self.release();
      await self.done;
      Object.assign(mine, { machine, pid: process.ppid, started: null });
    }
    writeFileSync(`${path}.lock`, JSON.stringify({ ...holder, token: 'held' }));
    let tries = 0;
    const link: NodeModules['fs']['link'] = (from, to) => {
      tries += 1;
      // Released after a while.
      if (tries === 5) rmSync(`${path}.lock`);
      return node.fs.link(from, to);
    };
    await withFileLock({ ...node, fs: { ...node.fs, link } }, path, async () => assert.equal(tries, 5));
  }
});

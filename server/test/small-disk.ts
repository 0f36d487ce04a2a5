/** A real disk of a few megabytes that can be filled and made read-only. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

export const needsMount = {
  skip: process.platform === 'linux' && process.getuid?.() === 0 ? false : 'needs root on Linux, to mount a small disk',
};

export function mount(...args: string[]): boolean {
  return spawnSync('mount', args, { stdio: 'inherit' }).status === 0;
}

export function smallDisk(t: TestContext, megabytes: number): string {
  const directory = mkdtempSync(join(tmpdir(), 'namjai-disk-'));
  assert.ok(mount('-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', directory));
  t.after(() => {
    spawnSync('umount', ['-l', directory]);
    rmSync(directory, { recursive: true, force: true });
  });
  return directory;
}

/** Writes until nothing more fits. */
export function fillDisk(file: string): void {
  const block = Buffer.alloc(4096);
  try {
    for (;;) writeFileSync(file, block, { flag: 'a' });
  } catch (error) {
    assert.match(String(error), /ENOSPC/);
  }
}

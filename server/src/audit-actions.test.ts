import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { auditActions, auditedWrites } from './audit-actions.ts';

const features = join(import.meta.dirname, 'features');

/** The names of the writes of every module that defines some. */
async function definedWrites(): Promise<Record<string, string[]>> {
  const modules = globSync('**/*.ts', { cwd: features })
    .filter((path) => !path.endsWith('.test.ts'))
    .filter((path) => readFileSync(join(features, path), 'utf8').includes('defineWrites('));
  const found: [string, string[]][] = [];
  for (const path of modules) {
    const { writes } = await import(join(features, path));
    assert.ok(writes, `${path} must export what defineWrites returns as \`writes\``);
    found.push([path, Object.keys(writes).sort()]);
  }
  return Object.fromEntries(found.sort());
}

test('every write is decided: what the audit log calls it, or that it changes nothing of that kind', async () => {
  const decided = Object.entries(auditedWrites).map(([path, writes]) => [path, Object.keys(writes).sort()] as const);
  assert.deepEqual(
    Object.fromEntries(decided.sort()),
    await definedWrites(),
    'server/src/audit-actions.ts must name every write, and no other',
  );
});

test('every audit action is made by some write', () => {
  const used = new Set(Object.values(auditedWrites).flatMap((writes) => Object.values(writes)));
  for (const action of Object.keys(auditActions)) assert.ok(used.has(action as never), action);
});

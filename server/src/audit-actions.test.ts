import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { auditActions, auditedWrites } from './audit-actions.ts';
import type { Write } from './platform/db/database.ts';

const features = join(import.meta.dirname, 'features');

type Actions = string | readonly string[] | { readonly partOf: string } | null;

/** The writes of every module that defines some, each with the actions that it leaves in the audit log. */
async function definedWrites(): Promise<Record<string, Record<string, Actions>>> {
  const modules = globSync('**/*.ts', { cwd: features })
    .filter((path) => !path.endsWith('.test.ts'))
    .filter((path) => readFileSync(join(features, path), 'utf8').includes('defineWrites('));
  const found: [string, Record<string, Actions>][] = [];
  for (const path of modules) {
    const { writes } = await import(join(features, path));
    assert.ok(writes, `${path} must export what defineWrites returns as \`writes\``);
    const actions = Object.entries<Write<never[], unknown>>(writes).map(([name, { run }]) => [
      name,
      run.actions ?? null,
    ]);
    found.push([path, Object.fromEntries(actions)]);
  }
  return Object.fromEntries(found);
}

const isPart = (action: Actions): action is { readonly partOf: string } =>
  typeof action === 'object' && action !== null && 'partOf' in action;

const linesOf = (writes: Readonly<Record<string, Readonly<Record<string, Actions>>>>): string[] =>
  Object.entries(writes).flatMap(([path, own]) =>
    Object.entries(own).map(([name, action]) => `${path}: ${name}: ${isPart(action) ? null : action}`),
  );

test('every write is decided: it leaves the row that the table says, or changes nothing of that kind', async () => {
  const [defined, listed] = [linesOf(await definedWrites()), linesOf(auditedWrites)];
  const rule =
    'server/src/audit-actions.ts must name every write, and no other; audited() defines those with an action';
  assert.deepEqual({ notListed: defined.filter((line) => !listed.includes(line)) }, { notListed: [] }, rule);
  assert.deepEqual({ notDefined: listed.filter((line) => !defined.includes(line)) }, { notDefined: [] }, rule);
});

test('every audit action is made by some write', () => {
  const all = Object.values(auditedWrites).flatMap((writes) => Object.values<Actions>(writes));
  const used = new Set(all.flatMap((action) => (isPart(action) ? [] : action)));
  for (const action of Object.keys(auditActions)) assert.ok(used.has(action), action);
  const parts = all.filter(isPart);
  assert.ok(parts.length > 0);
  for (const { partOf } of parts) assert.ok(used.has(partOf), `${partOf}, of a part`);
});

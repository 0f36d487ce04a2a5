import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { checkLayers } from '../../scripts/layers.ts';

/** A tree of modules with nothing but these imports. */
function tree(t: TestContext, modules: Record<string, string>): string {
  const root = mkdtempSync(join(tmpdir(), 'namjai-layers-'));
  t.after(() => rmSync(root, { recursive: true }));
  for (const [path, text] of Object.entries({ 'sdk/src/index.ts': '', ...modules })) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
}

test('forbidden imports are refused at any depth, as types, and upward from the platform', async (t) => {
  const root = tree(t, {
    'server/src/features/webhooks/index.ts': `export { send } from './delivery/send.ts';`,
    'server/src/features/webhooks/delivery/send.ts': `import { show } from '../../overlay/index.ts'; export const send = show;`,
    'server/src/features/overlay/index.ts': `export const show = 1;`,
    'server/src/features/oauth/token/issue.ts': `import type { Tip } from '../../tips/index.ts'; export type T = Tip;`,
    'server/src/features/tips/index.ts': `export interface Tip {}`,
    'server/src/features/portal/pages.ts': `import { record } from '../tips/deep/record.ts'; export const p = record;`,
    'server/src/features/tips/deep/record.ts': `export const record = 1;`,
    'server/src/platform/web/pages.ts': `import type { A } from '../../features/accounts/index.ts'; export type P = A;`,
    'server/src/features/accounts/index.ts': `export interface A {}`,
  });
  const { violations } = await checkLayers(root);
  assert.deepEqual(violations.map(({ rule, from }) => `${rule}: ${from}`).sort(), [
    'downward-from-oauth: server/src/features/oauth/token/issue.ts',
    'downward-from-sockets: server/src/features/webhooks/delivery/send.ts',
    'platform-below-all: server/src/platform/web/pages.ts',
    'through-the-index-of-another: server/src/features/portal/pages.ts',
  ]);
});

test('only tests import what belongs to tests, scripts and benchmarks', async (t) => {
  const root = tree(t, {
    'server/src/features/tips/record.ts': `import { addTip } from '../../../test/factories.ts'; export const r = addTip;`,
    'server/src/features/tips/record.test.ts': `import { addTip } from '../../../test/factories.ts'; addTip();`,
    'server/src/app.ts': `import type { Report } from '../../scripts/report.ts'; export type R = Report;`,
    'server/src/cli/seed.ts': `import { seed } from '../../../bench/seed.ts'; seed();`,
    'server/test/factories.ts': `export const addTip = () => 1;`,
    'scripts/report.ts': `export interface Report {}`,
    'bench/seed.ts': `export const seed = () => 1;`,
  });
  const { violations } = await checkLayers(root);
  assert.deepEqual(violations.map(({ rule, from }) => `${rule}: ${from}`).sort(), [
    'program-without-tools: server/src/app.ts',
    'program-without-tools: server/src/cli/seed.ts',
    'program-without-tools: server/src/features/tips/record.ts',
  ]);
});

test('circles are refused, also those of types alone', async (t) => {
  const root = tree(t, {
    'server/src/platform/a.ts': `import type { B } from './b.ts'; export type A = B;`,
    'server/src/platform/b.ts': `import type { A } from './a.ts'; export type B = A | 1;`,
  });
  const { violations } = await checkLayers(root);
  assert.ok(violations.length > 0 && violations.every(({ rule }) => rule === 'no-circles'));
});

test('what is allowed passes, and every module is read', async (t) => {
  const root = tree(t, {
    'server/src/features/portal/pages.ts': `import type { Tip } from '../tips/index.ts'; export type T = Tip;`,
    'server/src/features/portal/pages.test.ts': `import { record } from '../tips/deep/record.ts'; record();`,
    'server/src/features/tips/index.ts': `export { type Tip, record } from './deep/record.ts';`,
    'server/src/features/tips/deep/record.ts': `export interface Tip {} export const record = () => 1;`,
  });
  assert.deepEqual(await checkLayers(root), { modules: 5, violations: [] });
});

/** A row that nothing uses is a setting without effect, or an event type that never happens. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readConfig } from './config.ts';
import { eventTypes } from './features/events/index.ts';

const tables = ['config.ts', 'features/events/types.ts', 'features/sandbox/console/actions.ts'];

const sources = globSync('**/*.ts', { cwd: import.meta.dirname, exclude: ['**/*.test.ts'] })
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => !tables.includes(path))
  .map((path) => readFileSync(join(import.meta.dirname, path), 'utf8'));

/** What is read as `config.port`, as `{ port } = config`, or from a parameter of such a type. */
const readSettings = new Set(
  sources.flatMap((text) => [
    ...[...text.matchAll(/\bconfig\.(\w+)/g)].map(([, name]) => name),
    ...[...text.matchAll(/\{([^{}]*)\}\s*(?:= config\b|: (?:Pick<)?(?:Config|TipRules)\b)/g)].flatMap(
      ([, names = '']) => names.split(',').map((name) => name.split(':')[0]?.trim()),
    ),
  ]),
);

test('every setting is read somewhere', () => {
  // `development` is made of it.
  const { nodeEnv, ...others } = readConfig({});
  const unused = Object.keys(others).filter((key) => !readSettings.has(key));
  assert.deepEqual(unused, [], 'server/src/config.ts has settings that no other module reads');
});

// Whether such a module appends it, only the tests of the feature can tell.
test('every event type is named by some other module', () => {
  const missing = Object.keys(eventTypes).filter((type) => !sources.some((text) => text.includes(`'${type}'`)));
  assert.deepEqual(missing, [], 'server/src/features/events/types.ts has types that no other module names');
});

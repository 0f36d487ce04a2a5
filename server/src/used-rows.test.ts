/** A row that no other module names is a setting without effect, or an event type that never happens. */
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

const isNamed = (name: RegExp): boolean => sources.some((text) => name.test(text));

test('every setting is used somewhere', () => {
  // `development` is made of it.
  const { nodeEnv, ...others } = readConfig({});
  const unused = Object.keys(others).filter((key) => !isNamed(new RegExp(`\\b${key}\\b`)));
  assert.deepEqual(unused, [], 'server/src/config.ts has settings that no other module reads');
});

test('every event type is named where it happens', () => {
  const missing = Object.keys(eventTypes).filter((type) => !isNamed(new RegExp(`'${type}'`)));
  assert.deepEqual(missing, [], 'server/src/features/events/types.ts has types that no other module names');
});

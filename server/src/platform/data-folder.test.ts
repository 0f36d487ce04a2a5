import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryDirectory } from '../../test/temporary-directory.ts';
import { dataFolder, defaultDatabaseUrl } from './data-folder.ts';

test('in the repository the default of the table of settings holds', () => {
  assert.equal(dataFolder({ XDG_DATA_HOME: '/xdg', HOME: '/home/mali' }), './data');
  assert.equal(defaultDatabaseUrl({ XDG_DATA_HOME: '/xdg', HOME: '/home/mali' }), undefined);
});

test('installed, it is a folder of the user, wherever the program is run', () => {
  for (const [env, folder] of [
    [{ XDG_DATA_HOME: '/xdg', HOME: '/home/mali' }, '/xdg/namjai'],
    [{ HOME: '/home/mali' }, '/home/mali/.local/share/namjai'],
    [{ XDG_DATA_HOME: '', HOME: '/home/mali' }, '/home/mali/.local/share/namjai'],
    [{ XDG_DATA_HOME: 'relative', HOME: '/home/mali' }, '/home/mali/.local/share/namjai'],
    [{}, join(homedir(), '.local/share/namjai')],
  ] as const) {
    assert.equal(dataFolder(env, true), folder);
    assert.equal(defaultDatabaseUrl(env, true), `sqlite:${folder}/namjai.db`);
  }
});

test('a database in ./data is used, an empty or foreign ./data is not', (t) => {
  const before = process.cwd();
  process.chdir(temporaryDirectory(t));
  t.after(() => process.chdir(before));
  mkdirSync('data');
  assert.equal(dataFolder({ HOME: '/home/mali' }, true), '/home/mali/.local/share/namjai');
  writeFileSync('data/namjai.db', '');
  assert.equal(dataFolder({ HOME: '/home/mali' }, true), './data');
  assert.equal(defaultDatabaseUrl({ HOME: '/home/mali' }, true), undefined);
});

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileStore } from './file-store.ts';
import { memoryStore, type Store } from './store.ts';
import { storeConformance } from './store-conformance.ts';

const directory = mkdtempSync(join(tmpdir(), 'namjai-store-'));
after(() => rmSync(directory, { recursive: true }));

const memory = memoryStore();
for (const { name, run } of storeConformance(() => memory)) test(`memory ${name}`, run);
for (const { name, run } of storeConformance(() => fileStore(join(directory, 'deep', 'tokens.json'))))
  test(`file ${name}`, run);

/** The names of the checks that a store does not pass. */
async function broken(change: (store: Store) => Partial<Store>): Promise<string[]> {
  const store = memoryStore();
  const changed = { ...store, ...change(store) };
  const names: string[] = [];
  for (const { name, run } of storeConformance(() => changed)) await run().catch(() => names.push(name));
  return names;
}

test('the conformance suite finds stores that compare too little', async () => {
  assert.deepEqual(await broken(() => ({})), []);
  const readFirst = await broken((store) => ({
    async write(key, value, expected) {
      const present = await store.read(key);
      if (present !== expected) return false;
      await store.remove(key);
      await store.write(key, value, null);
      return true;
    },
  }));
  assert.ok(readFirst.includes('store: of many writers at once one wins'), readFirst.join());
  const lossy = await broken((store) => ({ read: async (key) => (await store.read(key)) || null }));
  assert.deepEqual(lossy, ['store: an empty value is not an absent one']);
  const insensitive = await broken((store) => ({
    read: (key) => store.read(key.toLowerCase()),
    write: (key, value, expected) => store.write(key.toLowerCase(), value, expected),
    remove: (key) => store.remove(key.toLowerCase()),
  }));
  assert.deepEqual(insensitive, ['store: keys with any characters are kept apart']);
});

test('the file is readable by its owner only and leaves nothing beside it', async () => {
  const path = join(directory, 'mode', 'tokens.json');
  const store = fileStore(path);
  await store.write('key', 'value', null);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  await store.remove('key');
  assert.deepEqual(readdirSync(join(directory, 'mode')), ['tokens.json']);
});

test('a file of something else is refused and left as it is', async () => {
  const path = join(directory, 'other.txt');
  writeFileSync(path, 'njr_secret and more');
  const store = fileStore(path);
  for (const call of [store.read('key'), store.write('key', 'value', null), store.remove('key')])
    await assert.rejects(call, { message: `${path} is not a file of this store` });
  assert.equal(readFileSync(path, 'utf8'), 'njr_secret and more');
});

test('sign-ins that nobody finished are forgotten beyond a thousand, connections never', async () => {
  const store = memoryStore();
  await store.write('creator/1', 'kept', null);
  for (let count = 0; count < 1002; count += 1) await store.write(`session/${count}`, 'x', null);
  const [connection, first, second, third] = await Promise.all(
    ['creator/1', 'session/0', 'session/1', 'session/2'].map(store.read),
  );
  assert.deepEqual([connection, first, second, third], ['kept', null, null, 'x']);
});

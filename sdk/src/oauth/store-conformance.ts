import type { Store } from './store.ts';

/** One promise of a store. `run` rejects with an error that says what is broken. */
export interface StoreCheck {
  readonly name: string;
  readonly run: () => Promise<void>;
}

/**
 * What `createOAuth` needs of a store, as checks for any test runner:
 *
 *     for (const { name, run } of storeConformance(() => myStore(database))) test(name, run);
 *
 * `makeStore` is called several times and must open the same database each time. Keys are random and removed again.
 */
export function storeConformance(makeStore: () => Store | Promise<Store>): StoreCheck[] {
  const check = (name: string, run: (store: Store, key: string) => Promise<void>): StoreCheck => ({
    name: `store: ${name}`,
    async run() {
      const store = await makeStore();
      const key = `conformance/${crypto.randomUUID()}`;
      try {
        await run(store, key);
      } finally {
        await store.remove(key);
      }
    },
  });

  return [
    check('a key that was never written is null', async (store, key) => {
      equal(await store.read(key), null, 'read');
    }),

    check('what was written is read back', async (store, key) => {
      equal(await store.write(key, 'one', null), true, 'write to an absent key, expecting null');
      equal(await store.read(key), 'one', 'read');
    }),

    check('a write that expects another value changes nothing', async (store, key) => {
      equal(await store.write(key, 'one', 'zero'), false, 'write to an absent key, expecting a value');
      equal(await store.read(key), null, 'read after it');
      await store.write(key, 'one', null);
      equal(await store.write(key, 'two', null), false, 'write to a present key, expecting null');
      equal(await store.write(key, 'two', 'ONE'), false, 'write, expecting a value that differs by case');
      equal(await store.write(key, 'two', 'one '), false, 'write, expecting a value that differs by a space');
      equal(await store.read(key), 'one', 'read after them');
      equal(await store.write(key, 'two', 'one'), true, 'write, expecting the present value');
      equal(await store.read(key), 'two', 'read after it');
    }),

    check('a key that was removed is absent', async (store, key) => {
      await store.remove(key);
      await store.write(key, 'one', null);
      await store.remove(key);
      equal(await store.read(key), null, 'read');
      equal(await store.write(key, 'two', 'one'), false, 'write, expecting the removed value');
      equal(await store.write(key, 'two', null), true, 'write, expecting null');
    }),

    check('an empty value is not an absent one', async (store, key) => {
      equal(await store.write(key, '', null), true, 'write of an empty value');
      equal(await store.read(key), '', 'read');
      equal(await store.write(key, 'one', null), false, 'write, expecting null');
      equal(await store.write(key, 'one', ''), true, 'write, expecting the empty value');
    }),

    check('of many writers at once one wins', async (store, key) => {
      const others = await Promise.all(Array.from({ length: 4 }, makeStore));
      let present: string | null = null;
      for (let round = 0; round < 5; round += 1) {
        const values = Array.from({ length: 20 }, (_, index) => `${round} ${index}`);
        const expected: string | null = present;
        const won: boolean[] = await Promise.all(
          values.map((value, index) => (others[index % others.length] ?? store).write(key, value, expected)),
        );
        equal(won.filter(Boolean).length, 1, `winners of round ${round}`);
        present = values[won.indexOf(true)] ?? null;
        equal(await store.read(key), present, 'the value of the winner');
      }
    }),

    check('no increment of many gets lost', async (store, key) => {
      const others = await Promise.all(Array.from({ length: 4 }, makeStore));
      const increment = async (each: Store) => {
        for (;;) {
          const value = await each.read(key);
          if (await each.write(key, String(Number(value ?? 0) + 1), value)) return;
        }
      };
      await Promise.all(Array.from({ length: 24 }, (_, index) => increment(others[index % others.length] ?? store)));
      equal(await store.read(key), '24', 'the sum');
    }),

    check('large values are kept whole', async (store, key) => {
      const large = 'a0_-.'.repeat(20_000);
      equal(await store.write(key, large, null), true, 'write of 100,000 characters');
      equal((await store.read(key)) === large, true, 'the same value, read');
      equal(await store.write(key, 'small', `${large.slice(0, -1)}x`), false, 'write, expecting another end');
      equal(await store.write(key, 'small', large), true, 'write, expecting it');
    }),

    check('keys with any characters are kept apart', async (store, prefix) => {
      const endings = [
        '',
        '/',
        '/a',
        '/A',
        '/a ',
        '/../b',
        "/'; --",
        '/%',
        '/_',
        '/"\\',
        '/ก',
        '/🎁',
        '/__proto__',
        '/\n',
      ];
      const keys = endings.map((ending) => `${prefix}${ending}`);
      try {
        for (const key of keys)
          equal(await store.write(key, `of ${key}`, null), true, `write of ${JSON.stringify(key)}`);
        for (const key of keys) equal(await store.read(key), `of ${key}`, `read of ${JSON.stringify(key)}`);
      } finally {
        for (const key of keys) await store.remove(key);
      }
      for (const key of keys) equal(await store.read(key), null, `read of ${JSON.stringify(key)} after its removal`);
    }),

    check('another instance sees what was written', async (store, key) => {
      await store.write(key, 'one', null);
      const other = await makeStore();
      equal(await other.read(key), 'one', 'read of another instance');
      equal(await other.write(key, 'two', 'one'), true, 'write of another instance');
      equal(await store.read(key), 'two', 'read of the first');
      await other.remove(key);
      equal(await store.read(key), null, 'read of the first after the removal');
    }),
  ];
}

function equal(actual: unknown, expected: unknown, what: string): void {
  if (actual !== expected) throw new Error(`${what}: expected ${short(expected)}, got ${short(actual)}`);
}

const short = (value: unknown): string => String(JSON.stringify(value)).slice(0, 100);

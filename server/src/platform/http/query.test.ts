import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildApp } from '../../../test/build-app.ts';

test('security 42: a page parses its query once, however often it asks for the language', async (t) => {
  const { http } = await buildApp(t);
  const url = `/login?a=${'b+'.repeat(20_000)}`;
  await http.inject(url);
  const Original = globalThis.URLSearchParams;
  let parsed = 0;
  t.after(() => {
    globalThis.URLSearchParams = Original;
  });
  globalThis.URLSearchParams = class extends Original {
    constructor(...init: ConstructorParameters<typeof Original>) {
      super(...init);
      if (String(init[0]).length > 20_000) parsed += 1;
    }
  };
  assert.equal((await http.inject(url)).statusCode, 200);
  assert.equal(parsed, 1);
});

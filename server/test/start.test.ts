import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';

const load = new URL('../bin/load.js', import.meta.url).href;

/** Loads what a start loads, and prints the addresses of all modules and the names of Node's own. */
const program = `
  const { registerHooks } = await import('node:module');
  const urls = [];
  registerHooks({ load: (url, context, nextLoad) => (urls.push(url), nextLoad(url, context)) });
  const { load } = await import(${JSON.stringify(load)});
  await load('main');
  console.log([...urls, ...process.moduleLoadList].join('\\n'));
`;

test('a start loads no library that a first use can load', () => {
  const options = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', program];
  const loaded = execFileSync(process.execPath, options, { encoding: 'utf8', maxBuffer: 16 * 1024 * 1024 });
  assert.match(loaded, /\/fastify\//, 'the list is of real modules');
  const late = /\/(?:undici|jose|sharp|qrcode|socket\.io|@simplewebauthn)\/|deps\/undici/;
  const tooEarly = loaded.split('\n').filter((name) => late.test(name));
  assert.deepEqual(tooEarly, []);
});

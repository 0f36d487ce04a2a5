import assert from 'node:assert/strict';
import { test } from 'node:test';
import Fastify from 'fastify';
import { createAssets } from './assets.ts';

const here = (path: string) => new URL(path, import.meta.url);

function serve() {
  const assets = createAssets();
  const module = assets.add(here('./fixtures/browser/main.ts'));
  const style = assets.add(here('./style.css'));
  const logo = assets.add(here('./logo.svg'));
  const app = Fastify();
  assets.register(app);
  return { assets, app, module, style, logo };
}

test('files are served with their type, unsniffed and forever', async () => {
  const { app, module, style, logo } = serve();
  const expected: [string, RegExp][] = [
    [module(), /^text\/javascript/],
    [style(), /^text\/css/],
    [logo(), /^image\/svg\+xml/],
  ];
  for (const [url, type] of expected) {
    const response = await app.inject(url);
    assert.equal(response.statusCode, 200, url);
    assert.match(String(response.headers['content-type']), type);
    assert.equal(response.headers['x-content-type-options'], 'nosniff');
    assert.equal(response.headers['cache-control'], 'public, max-age=31536000, immutable');
  }
});

test('what a module imports is served beside it, without types', async () => {
  const { app, module } = serve();
  assert.doesNotMatch((await app.inject(module())).body, /import type|: Greeting/);
  const imported = await app.inject(module().replace('main.ts', 'greeting.ts'));
  assert.equal(imported.statusCode, 200);
  assert.doesNotMatch(imported.body, /interface/);
});

test('another version gets the current file, uncached', async () => {
  const { app, style } = serve();
  const response = await app.inject(style().replace(/assets\/\w+/, 'assets/0123456789ab'));
  assert.equal(response.statusCode, 200);
  assert.equal(response.headers['cache-control'], 'no-store');
});

test('nothing else of the disk is served', async () => {
  const { app, style } = serve();
  const base = style().slice(0, style().indexOf('/server/'));
  for (const path of ['package.json', 'server/src/platform/web/assets.ts', '../../etc/passwd', '%2e%2e/x', '']) {
    assert.equal((await app.inject(`${base}/${path}`)).statusCode, 404, path);
  }
});

test('a browser module that imports server code is refused at start', () => {
  assert.throws(() => createAssets().add(here('./fixtures/browser/leak.ts')), /Not a browser module: .*headers\.ts/);
  assert.throws(() => createAssets().add(here('./assets.ts')), /Not a browser module/);
  assert.throws(() => createAssets().add(new URL('file:///etc/passwd')), /Not an asset/);
});

test('the address changes with the content, and late files are refused', () => {
  const { assets, style } = serve();
  const alone = createAssets().add(here('./style.css'));
  assert.notEqual(alone(), style());
  assert.throws(() => assets.add(here('./browser/enhance.ts')), /after addresses/);
});

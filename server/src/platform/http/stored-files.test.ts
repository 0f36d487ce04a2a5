import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { fastify } from 'fastify';
import sharp from 'sharp';
import { buildApp } from '../../../test/build-app.ts';
import { makeCreator } from '../../../test/factories.ts';
import { execute } from '../../../test/sql.ts';
import { createMemoryLimiter } from '../limiter/memory.ts';
import { createStoredFiles } from './stored-files.ts';

/** Files of these sizes by their id; of large ones a byte is read. Lists each read. */
function open(t: TestContext, sizes: Record<string, number>, maxKept?: number) {
  const app = fastify();
  t.after(() => app.close());
  const reads: string[] = [];
  createStoredFiles(createMemoryLimiter(), maxKept).serve(app, '/files/:id', async (id) => {
    const size = sizes[id];
    if (size === undefined) return undefined;
    const read = async () => {
      reads.push(id);
      await new Promise(setImmediate);
      return new Uint8Array(size > 1_000_000 ? 1 : size).fill(7);
    };
    return { size, headers: { 'content-type': 'image/webp' }, read };
  });
  const ask = (id: string, headers: Record<string, string> = {}, remoteAddress = '192.0.2.1') =>
    app.inject({ url: `/files/${id}`, headers, remoteAddress });
  const head = (id: string) => app.inject({ method: 'HEAD', url: `/files/${id}` });
  return { ask, head, reads };
}

test('security 42: neither HEAD nor a client that has the file reads its bytes', async (t) => {
  const { ask, head, reads } = open(t, { one: 5_000_000 });
  const { statusCode, headers, rawPayload } = await head('one');
  assert.deepEqual([statusCode, headers['content-length'], rawPayload.length], [200, '5000000', 0]);
  assert.equal(headers.etag, '"one"');
  for (const known of ['"one"', 'W/"one"', '"two", "one"', '*']) {
    const answer = await ask('one', { 'if-none-match': known });
    assert.deepEqual([answer.statusCode, answer.headers.etag, answer.rawPayload.length], [304, '"one"', 0], known);
  }
  assert.deepEqual(reads, []);
  const whole = await ask('one', { 'if-none-match': '"on"' });
  assert.deepEqual([whole.statusCode, whole.headers.etag, whole.rawPayload.length], [200, '"one"', 1]);
  assert.equal((await head('two')).statusCode, 404);
});

test('security 42: a file is read once for all who ask, at once or later, while it is among the last', async (t) => {
  const sizes: Record<string, number> = { a: 400, b: 400, c: 400 };
  const { ask, reads } = open(t, sizes, 1_000);
  const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => ask('a', {}, `192.0.2.${i}`)));
  for (const { rawPayload } of answers) assert.deepEqual(rawPayload, Buffer.alloc(400, 7));
  await ask('b');
  await ask('a');
  assert.deepEqual(reads, ['a', 'b']);
  await ask('c');
  await ask('a');
  assert.deepEqual(reads, ['a', 'b', 'c'], 'the one that was asked for longest ago has gone');
  await ask('b');
  assert.deepEqual(reads, ['a', 'b', 'c', 'b']);
  delete sizes.b;
  assert.equal((await ask('b')).statusCode, 404, 'what is kept is not shown when it may not be');
});

test('security 42: an address gets twenty overlays with the most files in a minute, and is refused more', async (t) => {
  const overlay = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`f${i}`, 1_500_000]));
  const { ask, head, reads } = open(t, { ...overlay, extra: 1 });
  const load = async () => {
    const answers = await Promise.all(Object.keys(overlay).map((id) => ask(id)));
    return [...new Set(answers.map(({ statusCode }) => statusCode))];
  };
  for (let i = 0; i < 20; i++) assert.deepEqual(await load(), [200]);
  for (let i = 0; i < 400; i++) assert.equal((await ask('extra')).statusCode, 200);
  const before = reads.length;
  assert.deepEqual(await load(), [429]);
  const refused = await ask('f0');
  assert.deepEqual([refused.statusCode, refused.headers.etag], [429, undefined]);
  assert.match(String(refused.headers['retry-after']), /^\d+$/);
  assert.equal(reads.length, before);
  assert.equal((await head('f0')).statusCode, 200);
  assert.equal((await ask('f0', {}, '198.51.100.7')).statusCode, 200);
});

test('pictures of creators, of apps and of overlays are served by their id, and not while suspended', async (t) => {
  const { http, runtime } = await buildApp(t);
  const { creatorId } = await makeCreator(runtime);
  const png = await sharp({ create: { width: 4, height: 4, channels: 3, background: 'red' } })
    .png()
    .toBuffer();
  await runtime.profiles.setAvatar(creatorId, png);
  const file = await runtime.overlays.looks.upload(creatorId, { kind: 'picture', bytes: png });
  await runtime.overlays.looks.edit(creatorId, (draft) => draft.map((each) => ({ ...each, picture: file.id })), [file]);
  const { avatar_url } = await runtime.profiles.profile(creatorId);
  const paths = [new URL(avatar_url ?? '').pathname, `/overlay-files/${file.id}`];
  const ask = (method: 'GET' | 'HEAD', url: string, headers = {}) => http.inject({ method, url, headers });
  for (const path of paths) {
    const [got, head] = [await ask('GET', path), await ask('HEAD', path)];
    const id = path.split('/').at(-1);
    assert.deepEqual([got.statusCode, head.statusCode, got.headers.etag], [200, 200, `"${id}"`]);
    for (const name of ['content-length', 'content-type', 'cache-control', 'content-security-policy'])
      assert.equal(head.headers[name], got.headers[name], name);
    assert.equal(got.headers['content-length'], String(got.rawPayload.length));
    assert.equal((await ask('GET', path, { 'if-none-match': `"${id}"` })).statusCode, 304);
  }
  await execute(runtime.db, 'UPDATE creators SET suspended_at = 1 WHERE id = $1', [creatorId]);
  for (const path of paths)
    for (const method of ['GET', 'HEAD'] as const)
      assert.equal((await ask(method, path, { 'if-none-match': '*' })).statusCode, 404, path);
});

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Webhook } from 'standardwebhooks';
import { buildApp, onNodes } from '../../test/build-app.ts';
import { makePair } from '../../test/factories.ts';
import { startReceiver } from '../../test/receiver.ts';

const program = fileURLToPath(new URL('../../bin/namjai.js', import.meta.url));

const skip = onNodes && 'the process is given a file of its own';

function run(t: TestContext, env: Record<string, string>, ...args: string[]) {
  const child = spawn(process.execPath, [program, 'listen', ...args, '--json'], { env: { ...process.env, ...env } });
  t.after(() => child.kill('SIGKILL'));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    child,
    exit: once(child, 'exit'),
    line: async () => JSON.parse(String((await lines.next()).value)),
    error: async () => JSON.parse((await once(child.stderr, 'data')).toString()).error,
  };
}

test('listen forwards what another process records, signed, in order, and goes on when nobody answers', {
  skip,
}, async (t) => {
  const { runtime, directory } = await buildApp(t);
  const { creatorId, username, clientId } = await makePair(runtime);
  const env = { DATABASE_URL: `sqlite:${directory}/namjai.db` };
  const receiver = await startReceiver(t);
  const fields = { amount: 5, name: 'SOMCHAI', displayName: null, message: null };
  const tip = () => runtime.tips.record({ creatorId, app: null, ...fields });
  await tip();
  const listening = run(t, env, '--creator', username, '--client', clientId, '--forward-to', receiver.url);
  const { secret } = await listening.line();
  await tip();
  receiver.answer = (response) => response.destroy();
  await runtime.alerts.send({ creatorId });
  const first = await listening.line();
  const second = await listening.line();
  receiver.answer = (response) => response.writeHead(204).end();
  await tip();
  const third = await listening.line();
  assert.deepEqual([first.sequence, second.type, second.sequence, third.sequence], [2, 'alert.test', 3, 4]);
  assert.deepEqual([third.status, third.error], [204, null]);
  assert.equal(second.status, null);
  const last = receiver.requests.at(-1);
  assert.ok(last);
  const headers = Object.fromEntries(Object.entries(last.headers).map(([name, value]) => [name, String(value)]));
  assert.deepEqual(new Webhook(secret).verify(last.body, headers), JSON.parse(last.body));
  assert.equal(last.body, (await runtime.events.after(creatorId, 3, 1))[0]?.body);
  listening.child.kill('SIGINT');
  assert.deepEqual(await listening.exit, [0, null]);
});

test('listen needs a grant that may subscribe, ends with it, and takes no odd address', { skip }, async (t) => {
  const { runtime, directory } = await buildApp(t);
  const { creatorId, username, clientId } = await makePair(runtime);
  const narrow = await makePair(runtime, { scope: 'tips.read', creator: { creatorId, username } });
  const env = { DATABASE_URL: `sqlite:${directory}/namjai.db` };
  const to = ['--forward-to', 'http://127.0.0.1:9/'];
  const refused = run(t, env, '--creator', username, '--client', narrow.clientId, ...to);
  assert.equal((await refused.error()).code, 'grant_unusable');
  const odd = run(t, env, '--creator', username, '--client', clientId, '--forward-to', 'file:///etc/passwd');
  assert.equal((await odd.error()).code, 'url_invalid');
  const listening = run(t, env, '--creator', username, '--client', clientId, ...to);
  assert.equal((await listening.line()).listening, true);
  await runtime.grants.revoke(creatorId, clientId, 'operator');
  assert.deepEqual(await listening.exit, [0, null]);
});

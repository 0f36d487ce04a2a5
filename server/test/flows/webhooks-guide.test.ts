import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../../../sdk/test/until.ts';
import { freePort } from '../server-process.ts';
import { buildWebhooks } from '../webhooks.ts';

test('the receiver of the guide takes what is genuine, once, and refuses the rest', async (t) => {
  const { add, call, tip, worker, clock, directory, deliveries } = await buildWebhooks(t);
  clock.set(Date.now());
  const guide = readFileSync(new URL('../../../docs/webhooks.md', import.meta.url), 'utf8');
  const port = await freePort();
  const [, code = ''] = /```js\n([\s\S]*?)```/.exec(guide) ?? [];
  const file = join(directory, 'receiver.mjs');
  writeFileSync(file, code.replace('3000', String(port)));
  const { id, secret } = await add(`http://127.0.0.1:${port}/`);
  const receiver = spawn(process.execPath, [file], {
    env: { WEBHOOK_SECRET: secret },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.after(() => receiver.kill());
  let output = '';
  receiver.stdout.on('data', (chunk) => (output += chunk));
  const url = `http://127.0.0.1:${port}/`;
  await until('the receiver listens', () => fetch(url, { method: 'POST', body: '{}' }).catch(() => undefined));

  assert.equal((await fetch(url, { method: 'POST', body: '{}' })).status, 400, 'unsigned');
  await tip();
  await worker.pass();
  const [delivery] = await deliveries(id);
  assert.equal(delivery!.status, 'succeeded');
  await call('POST', `/${id}/rotate-secret`);
  await call('POST', `/${id}/deliveries/${delivery!.id}/retry`);
  await worker.pass();
  assert.equal((await deliveries(id))[0]!.attempts.length, 2, 'with the secret before, too');
  assert.deepEqual(new Set((await deliveries(id))[0]!.attempts.map(({ status_code }) => status_code)), new Set([204]));
  receiver.kill();
  await once(receiver, 'exit');
  assert.equal(output.match(/tip\.created/g)?.length, 1, 'each event once');
});

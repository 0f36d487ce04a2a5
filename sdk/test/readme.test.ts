import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { freePort } from '../../server/test/free-port.ts';
import { startNamjai, type TestNamjai } from '../src/testing/index.ts';
import { until } from './until.ts';

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
const blocks = [...readme.matchAll(/```js\n([\s\S]*?)```/g)].map(([, block = '']) => block);
const untested = new Set(blocks);
/** The only block with these words. */
function block(words: string): string {
  const [found = '', ...more] = blocks.filter((text) => text.includes(words));
  assert.ok(found !== '' && more.length === 0, words);
  untested.delete(found);
  return found;
}

let namjai: TestNamjai;
before(async () => {
  namjai = await startNamjai();
});
after(() => namjai.close());

interface Run {
  readonly child: ChildProcess;
  output(): string;
}

/** Runs a program in a folder from which the packages of the repository are found. */
function run(t: TestContext, text: string, env: Record<string, string>, ...args: string[]): Run {
  const cache = new URL('../../node_modules/.cache/', import.meta.url).pathname;
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'namjai-readme-'));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'program.mjs'), text);
  const child = spawn(process.execPath, [...args, 'program.mjs'], {
    cwd: folder,
    env: { PATH: process.env.PATH, NAMJAI_URL: namjai.baseUrl, ...env },
  });
  t.after(() => child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  return { child, output: () => output };
}

async function ended({ child, output }: Run): Promise<string> {
  const [code] = await once(child, 'close');
  assert.equal(code, 0, output());
  return output();
}

const has = (program: Run, words: string) =>
  until(
    () => `${words} in: ${program.output()}`,
    () => program.output().includes(words),
  );

test('calls the API', async (t) => {
  const { accessToken: ACCESS_TOKEN } = await namjai.grant({ creator: await namjai.creator() });
  const calls = block('namjai.tips.create');
  assert.equal(await ended(run(t, calls, { ACCESS_TOKEN })), 'SOMCHAI 150.5\n');
  const wrong = calls.replace('tip.id, { reason:', "'tip_0', { reason:");
  assert.match(await ended(run(t, wrong, { ACCESS_TOKEN })), /404 not_found req_\w+ \[\]/);
});

test('follows events, in all three ways', async (t) => {
  const creator = await namjai.creator();
  const { accessToken: ACCESS_TOKEN } = await namjai.grant({ creator });
  await namjai.tip({ creator, name: 'LEK' });
  const server = run(t, block('onReset'), { ACCESS_TOKEN });
  const loop = run(t, block('for await (const event of events('), { ACCESS_TOKEN });
  // The page's own server, in place of the browser's.
  const page = `
    import { createClient } from '@namjai/sdk';
    const client = createClient({ baseUrl: process.env.NAMJAI_URL, accessToken: process.env.ACCESS_TOKEN });
    const original = globalThis.fetch;
    globalThis.fetch = async (address, init) =>
      address === '/my-server/socket-token' ? Response.json(await client.socketToken()) : original(address, init);
    ${block('new StopEvents').replace('wss://tips.example', namjai.baseUrl.replace('http', 'ws'))}`;
  const browser = run(t, page.replace('onEvent:', 'onStatus: (status) => console.log(status), onEvent:'), {
    ACCESS_TOKEN,
  });

  await has(server, '1: thanks, LEK');
  await has(loop, '1 tip.created');
  await has(browser, 'live');
  await namjai.tip({ creator });
  await has(browser, 'tip.created');
  await has(loop, '2 tip.created');
  server.child.kill('SIGINT');
  await ended(server);
});

test('receives webhooks', async (t) => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  const port = await freePort();
  const program = block('createWebhookHandler({').replace('3001', String(port));
  const receiver = run(t, program, { WEBHOOK_SECRET: secret });
  const body = JSON.stringify({ id: 'evt_1', type: 'grant.revoked', data: { creator_id: 'crt_1', reason: 'creator' } });
  const headers = {
    'content-type': 'application/json',
    'webhook-id': 'evt_1',
    'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
    'webhook-signature': new Webhook(secret).sign('evt_1', new Date(), body),
  };
  const send = () => fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body }).catch(() => undefined);
  assert.equal((await until(() => `it listens: ${receiver.output()}`, send)).status, 204);
  // Its words come by another way than its answer.
  await until(receiver.output, () => receiver.output() === 'crt_1 has disconnected\n');
});

test('tests an app', async (t) => {
  const program = block('startNamjai()');
  const chaos = block('namjai.chaos(');
  assert.match(await ended(run(t, `${program}${chaos}`, {}, '--test')), /pass 2\b/);
  const guide = readFileSync(new URL('../../docs/sdk.md', import.meta.url), 'utf8');
  for (const part of [program, chaos]) assert.ok(guide.includes(part), 'docs/sdk.md shows the same program');
});

test('every block is tested', () => assert.deepEqual([...untested], []));

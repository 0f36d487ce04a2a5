import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { until } from '../../../sdk/test/until.ts';
import { buildApp } from '../build-app.ts';
import { makeApp, makeCreator, makePair, makePublicApp } from '../factories.ts';
import { freePort } from '../free-port.ts';
import { redirectUri } from '../oauth.ts';
import { signedInVisitor } from '../visitor.ts';

const guide = readFileSync(new URL('../../../docs/sdk.md', import.meta.url), 'utf8');
const blocks = (language: string) =>
  [...guide.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, 'g'))].map(([, block = '']) => block);
/** The only block with these words. */
function block(words: string): string {
  const found = blocks('js').filter((text) => text.includes(words));
  assert.equal(found.length, 1, words);
  return found[0] ?? '';
}

/** A folder from which `@namjai/sdk` is found. */
function folder(t: Pick<TestContext, 'after'>): string {
  const cache = new URL('../../../node_modules/.cache/', import.meta.url).pathname;
  mkdirSync(cache, { recursive: true });
  const directory = mkdtempSync(join(cache, 'namjai-guide-'));
  t.after(() => rmSync(directory, { recursive: true }));
  return directory;
}

interface Run {
  readonly child: ChildProcess;
  readonly output: () => string;
  /** Its exit code. */
  readonly ended: Promise<number | null>;
}

function run(t: Pick<TestContext, 'after'>, directory: string, env: Record<string, string>, ...args: string[]): Run {
  const child = spawn(process.execPath, args, { cwd: directory, env: { PATH: process.env.PATH, ...env } });
  t.after(() => child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  return { child, output: () => output, ended: new Promise((resolve) => child.once('close', resolve)) };
}

/** The listening server, and a creator in a browser. */
async function listening(t: Pick<TestContext, 'after'>) {
  const port = await freePort();
  const url = `http://localhost:${port}`;
  const app = await buildApp(t, { PORT: String(port), BASE_URL: url, AUTH_URL: url });
  app.clock.set(Date.now());
  await app.http.listen({ host: 'localhost', port });
  const creator = await makeCreator(app.runtime);
  return { ...app, url, creator, visitor: await signedInVisitor(app, creator.creatorId) };
}

const program = block('createServer(async (request');
/** How the guide's app makes `oauth`, with which other blocks go on. */
const setup = program.slice(0, program.indexOf('createServer(async')).replace(/^import \{ createServer.*\n/, '');
const ticketIn = (body: string): string => /name="request" value="([^"]+)"/.exec(body)?.[1] ?? '';
const encryptionKey = 'a key of thirty-two bytes or more';

test('the SDK guide connects a creator, calls, follows events, and learns of the end', async (t) => {
  const { http, runtime, url, creator, visitor } = await listening(t);
  const { creatorId } = creator;
  const client = await makeApp(runtime);
  const directory = folder(t);
  const env = {
    NAMJAI_URL: url,
    CLIENT_ID: client.clientId,
    CLIENT_SECRET: client.clientSecret,
    REDIRECT_URI: redirectUri,
    ENCRYPTION_KEY: encryptionKey,
  };
  const appPort = await freePort();
  writeFileSync(join(directory, 'app.mjs'), program.replace('3000', String(appPort)));
  run(t, directory, env, 'app.mjs');

  const site = `http://127.0.0.1:${appPort}`;
  const connect = await until('the app listens', () =>
    fetch(`${site}/connect`, { redirect: 'manual' }).catch(() => undefined),
  );
  const headers = { cookie: String(connect.headers.get('set-cookie')).split(';')[0] ?? '' };
  const decide = async (answer: Response, decision: string): Promise<string> => {
    const { pathname, search } = new URL(String(answer.headers.get('location')));
    const page = await visitor.get(`${pathname}${search}`);
    const answered = await visitor.post('/oauth/authorize', { request: ticketIn(page.body), decision });
    const { location } = answered.headers;
    return `${site}/callback${new URL(String(location)).search}`;
  };
  const approved = await decide(connect, 'approve');
  assert.equal((await fetch(approved)).status, 400, 'another session');
  assert.match(await (await fetch(approved, { headers })).text(), new RegExp(`^Hello .* id: ${creatorId}$`));
  assert.equal((await fetch(approved, { headers })).status, 400, 'twice');
  const again = await fetch(`${site}/connect`, { redirect: 'manual', headers });
  assert.equal((await fetch(await decide(again, 'deny'), { headers })).status, 403);

  // The other blocks go on with the app's `oauth`, and the creator's id.
  const start = (name: string, text: string): Run => {
    writeFileSync(join(directory, name), `${setup}\nconst creatorId = '${creatorId}';\n${text}`);
    return run(t, directory, env, name);
  };
  const calls = start('calls.mjs', block('namjai.tips.stats()'));
  assert.equal(await calls.ended, 0, calls.output());
  assert.equal(calls.output(), '0 tips, 0 baht\n');

  const live = "\nawait new Promise((live) => setInterval(() => connection.status === 'live' && live(), 10));";
  const events = start('events.mjs', `${block('events.connect')}${live}\nconsole.log('live');`);
  await until(events.output, () => events.output().includes('live'));
  const { headers: other } = await makePair(runtime, { creator });
  await http.inject({ method: 'POST', url: '/v1/tips', headers: other, payload: { amount: 150.5, name: 'MALI' } });
  await until(events.output, () => events.output().includes('150.5'));

  const ended = block('error instanceof ReauthorizationRequired');
  const before = start('before.mjs', ended);
  assert.deepEqual([await before.ended, before.output()], [0, '']);
  await runtime.grants.revoke(creatorId, client.clientId, 'creator');
  const after = start('after.mjs', ended);
  assert.deepEqual([await after.ended, after.output()], [0, 'Show the button that leads to /connect\n']);
});

test('the device of the SDK guide connects', async (t) => {
  const { runtime, url, creator, visitor } = await listening(t);
  const { clientId } = await makePublicApp(runtime);
  const directory = folder(t);
  writeFileSync(join(directory, 'device.mjs'), `${setup}\n${block('oauth.device')}\nconsole.log(creatorId);`);
  const env = { NAMJAI_URL: url, CLIENT_ID: clientId, ENCRYPTION_KEY: encryptionKey };
  const { ended, output } = run(t, directory, env, 'device.mjs');
  const code = await until(output, () => /^Open \S+\/device and enter (\S+)$/m.exec(output())?.[1]);
  const page = await visitor.post('/device', { user_code: code });
  await visitor.post('/device/decision', { request: ticketIn(page.body), decision: 'approve' });
  assert.equal(await ended, 0, output());
  assert.ok(output().endsWith(`${creator.creatorId}\n`), output());
});

test('the Thai guide of the SDK has the same code', () => {
  const code = (text: string) => text.match(/```\w+\n[\s\S]*?```/g);
  const thai = readFileSync(new URL('../../../docs/sdk.th.md', import.meta.url), 'utf8');
  assert.deepEqual(code(thai), code(guide));
});

test('the store of the SDK guide passes the conformance suite, with its SQL', async (t) => {
  const directory = folder(t);
  const [table = ''] = blocks('sql');
  const database = `
    import { DatabaseSync } from 'node:sqlite';
    const db = new DatabaseSync(':memory:');
    db.exec(${JSON.stringify(table)});
    export const pool = {
      async query(sql, values) {
        const statement = db.prepare(sql.replace(/\\$(\\d)/g, '?$1'));
        if (sql.startsWith('SELECT')) return { rows: statement.all(...values) };
        return { rowCount: Number(statement.run(...values).changes) };
      },
    };`;
  writeFileSync(join(directory, 'database.mjs'), database);
  writeFileSync(join(directory, 'store.mjs'), block('export const store'));
  writeFileSync(join(directory, 'store.test.mjs'), block('storeConformance(() => store)'));
  const { ended, output } = run(t, directory, {}, '--test', 'store.test.mjs');
  assert.equal(await ended, 0, output());
  assert.match(output(), /pass 10\b/);
});

test('the webhook handler of the SDK guide takes what is signed', async (t) => {
  const directory = folder(t);
  const port = await freePort();
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  writeFileSync(join(directory, 'webhooks.mjs'), block('createWebhookHandler').replace('3001', String(port)));
  const { output } = run(t, directory, { WEBHOOK_SECRET: secret }, 'webhooks.mjs');
  const body = JSON.stringify({ id: 'evt_1', type: 'grant.revoked', data: { creator_id: 'crt_1', reason: 'creator' } });
  const headers = {
    'content-type': 'application/json',
    'webhook-id': 'evt_1',
    'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
    'webhook-signature': new Webhook(secret).sign('evt_1', new Date(), body),
  };
  const send = () => fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body }).catch(() => undefined);
  const answer = await until('it listens', send);
  assert.equal(answer.status, 204);
  // Its words come by another way than its answer.
  await until(output, () => output() === 'crt_1 has disconnected\n');
});

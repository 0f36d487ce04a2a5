import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer, request as httpRequest } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { until } from '../../../sdk/test/until.ts';
import { readConfig } from '../../src/config.ts';
import { allTips } from '../../src/features/tips/index.ts';
import { createLog } from '../../src/platform/log.ts';
import { createRuntime } from '../../src/runtime.ts';
import { freePort, startServer } from '../server-process.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import { skip as skipWithoutBrowser } from './launch.ts';

export const folder = join(import.meta.dirname, '../../../examples/tip-jar');

/** The example is a package of its own, and runs on the packed SDK. */
export const skip =
  skipWithoutBrowser ||
  (existsSync(join(folder, 'node_modules/@namjai/sdk/dist'))
    ? false
    : 'examples/tip-jar is not installed: npm ci && npm run sdk, there');

const password = 'a long enough password';
const phone = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2 };

export type TipJar = Awaited<ReturnType<typeof startTipJar>>;

/** A real server, the tip jar as a process beside it, and a wire between them that can be cut. */
export async function startTipJar(t: TestContext) {
  const directory = temporaryDirectory(t);
  const env = { DATABASE_URL: `sqlite:${join(directory, 'namjai.db')}`, WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8' };
  const runtime = await createRuntime(readConfig(env), { log: createLog({ level: 'silent' }) });
  t.after(() => runtime.close());
  const server = await startServer({ env });
  t.after(() => server.kill());
  const wire = await startWire(t, server.url);
  const port = await freePort();
  const url = `http://localhost:${port}`;
  const { clientId, clientSecret } = await runtime.apps.add({
    name: 'Tip jar',
    redirectUris: [`${url}/callback`],
    ownerId: null,
  });
  const webhook = await runtime.webhooks.add(clientId, {
    url: `http://127.0.0.1:${port}/webhooks`,
    types: ['alert.shown', 'alert.skipped', 'grant.revoked'],
    description: null,
  });
  const secrets = {
    webhook: webhook.secret,
    slip: `whsec_${Buffer.from('a secret of the slip service').toString('base64')}`,
  };
  const settings = {
    NAMJAI_URL: wire.url,
    NAMJAI_CLIENT_ID: clientId,
    NAMJAI_CLIENT_SECRET: clientSecret,
    TIP_JAR_URL: url,
    TIP_JAR_KEY: 'a key that only these tests know, of 32 and more',
    WEBHOOK_SECRET: secrets.webhook,
    SLIP_SECRET: secrets.slip,
    DATABASE: join(directory, 'tip-jar.db'),
    // Requests of the tests come from addresses that they choose, so they meet its limits only where they mean to.
    TRUST_PROXY: '1',
  };
  let output = '';

  async function start() {
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', 'src/main.js'], {
      cwd: folder,
      env: { PATH: process.env.PATH, ...settings },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = once(child, 'exit');
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
    const kill = async () => {
      child.kill('SIGKILL');
      await ended;
    };
    t.after(kill);
    await until(
      () => `the tip jar is open: ${output}`,
      async () => {
        if (child.exitCode !== null) throw new Error(output);
        return (await fetch(url).catch(() => undefined))?.ok;
      },
    );
    return { kill };
  }

  async function addCreator(username: string, displayName: string) {
    const { id } = await runtime.accounts.add({ username, displayName, password });
    const { settings } = await runtime.overlays.get(id);
    await runtime.overlays.saveSettings(id, { ...settings, seconds: 10 });
    return { id, username, overlay: `${server.url}/overlay/${await runtime.overlays.key(id)}` };
  }

  return { url, server, runtime, wire, settings, secrets, start, addCreator, output: () => output };
}

/** Passes everything on, and counts the tips sent. While `cutAnswers` is set, a tip is recorded and its answer lost. */
async function startWire(t: TestContext, target: string) {
  const wire = { url: '', cutAnswers: false, cut: 0, sent: 0 };
  const proxy = createServer((request, response) => {
    const { method, headers, url = '/' } = request;
    const records = method === 'POST' && url === '/v1/tips';
    if (records) wire.sent++;
    const onward = httpRequest(new URL(url, target), { method, headers: { ...headers, host: new URL(target).host } });
    onward.on('error', () => response.destroy());
    onward.on('response', (answer) => {
      if (wire.cutAnswers && records) {
        wire.cut++;
        response.destroy();
        return answer.resume();
      }
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      return answer.pipe(response);
    });
    request.pipe(onward);
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  t.after(() => {
    proxy.close();
    proxy.closeAllConnections();
  });
  wire.url = `http://localhost:${(proxy.address() as AddressInfo).port}`;
  return wire;
}

/** A visitor on a phone. */
export async function visit(
  browser: Browser,
  locale = 'en-US',
  colorScheme: 'light' | 'dark' = 'light',
): Promise<Page> {
  return (await browser.newContext({ ...phone, locale, colorScheme })).newPage();
}

export async function tipsOf({ runtime }: TipJar, creatorId: string) {
  return (await runtime.tips.page(creatorId, allTips, null, 100)).tips;
}

/** Connects by the real pages of the server, in whatever language. */
export async function connect(page: Page, url: string, username: string): Promise<void> {
  await page.goto(url);
  await page.locator('a[href="/connect"]').click();
  await page.locator('input[name=username]').fill(username);
  await page.locator('input[name=password]').fill(password);
  await page.getByRole('button', { name: /^(Sign in|เข้าสู่ระบบ)$/ }).click();
  await page.getByRole('button', { name: /^(Approve|อนุญาต)$/ }).click();
  await page.waitForURL(`${url}/jar`);
}

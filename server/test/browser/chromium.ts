import { existsSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { type Browser, chromium } from 'playwright-core';
import { buildApp } from '../build-app.ts';
import { freePort } from '../free-port.ts';

const executablePath = '/usr/bin/chromium';

/** For a test's options: why it cannot run here, or `false`. */
export const skip = existsSync(executablePath) ? false : 'no Chromium on this machine';

export async function launch(t: Pick<TestContext, 'after'>): Promise<Browser> {
  const args = ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update'];
  const browser = await chromium.launch({ executablePath, args });
  t.after(() => browser.close());
  return browser;
}

/** The whole server on a free port, at the address that its pages show. */
export async function serveApp(t: Pick<TestContext, 'after'>) {
  const port = await freePort();
  const app = await buildApp(t, { PORT: String(port) });
  await app.http.listen({ port, host: '127.0.0.1' });
  return { ...app, address: app.runtime.config.authUrl };
}

import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

const executablePath = '/usr/bin/chromium';

/** For a test's options: why it cannot run here, or `false`. */
export const skip = existsSync(executablePath) ? false : 'no Chromium on this machine';

export async function launch(t: { after(end: () => unknown): void }, more: readonly string[] = []): Promise<Browser> {
  const args = ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update'];
  const browser = await chromium.launch({ executablePath, args: [...args, ...more] });
  t.after(() => browser.close());
  return browser;
}

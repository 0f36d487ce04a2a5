import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Browser, type BrowserContext, chromium } from 'playwright-core';

/** The engine without the windows around it takes half the processor time of the whole browser. */
const [executablePath = ''] = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].filter((path) =>
  existsSync(path),
);

/** For a test's options: why it cannot run here, or `false`. */
export const skip = executablePath ? false : 'no Chromium on this machine';

const longestCloseMs = 10_000;
/** Only keeps a broken test from hanging, as that of `until` does. */
const longestWaitMs = 180_000;

export async function launch(t: { after(end: () => unknown): void }, more: readonly string[] = []): Promise<Browser> {
  const args = ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update'];
  const browser = await chromium.launch({ executablePath, args: [...args, ...more], timeout: longestWaitMs });
  t.after(() => {
    // Playwright ends the process when it is asked a second time.
    const timer = setTimeout(() => browser.close(), longestCloseMs);
    return browser.close().finally(() => clearTimeout(timer));
  });
  const newContext = browser.newContext.bind(browser);
  // `browser.newPage` calls it too.
  browser.newContext = async (options) => {
    const context = withBoundedClose(await newContext(options));
    context.setDefaultTimeout(longestWaitMs);
    return context;
  };
  return browser;
}

/** On a busy machine Chromium now and then never answers that a context is closed. It then ends with the browser. */
function withBoundedClose(context: BrowserContext): BrowserContext {
  const close = context.close.bind(context);
  context.close = (options) => Promise.race([close(options), sleep(longestCloseMs, undefined, { ref: false })]);
  return context;
}

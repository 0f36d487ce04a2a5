import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';

/** What a page in Chromium needs. */
export interface PageSample {
  /** After a collection. */
  readonly heap: number;
  readonly nodes: number;
  readonly listeners: number;
  readonly documents: number;
  /**
   * Processor time of the page's process for each alert since the sample before, without that of taking samples. It is
   * told at the machine's pace of the first sample: others on a machine make the same work take longer.
   */
  readonly msPerAlert: number;
}

/** Work that is always the same, by the processor time of which the machine's pace is told. */
const fixedWork = 'Float64Array.from({ length: 300_000 }, (_, i) => Math.sin(i)).sort().length';

/** By Chromium's own figures, over its debugging protocol: nothing is left in the page. */
export async function watchPage(page: Page) {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  const metrics = async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return (name: string): number => {
      const found = metrics.find((each) => each.name === name);
      if (!found) throw new Error(`Chromium has no metric ${name}`);
      return found.value;
    };
  };
  /** What a page draws between a collection and a reading is no leak: of several readings, the one with the fewest nodes. */
  async function metricsAtRest() {
    const readings = [];
    for (let i = 0; i < 3; i += 1) {
      await session.send('HeapProfiler.collectGarbage');
      readings.push(await metrics());
    }
    return readings.reduce((least, reading) => (reading('Nodes') < least('Nodes') ? reading : least));
  }
  const processSeconds = async () => (await metrics())('ProcessTime');
  async function measureFixedWork(): Promise<number> {
    const before = await processSeconds();
    await session.send('Runtime.evaluate', { expression: fixedWork });
    return (await processSeconds()) - before;
  }
  // Not compiled yet at first.
  await measureFixedWork();
  const firstPace = await measureFixedWork();
  let before = await processSeconds();
  return {
    async value(expression: string): Promise<unknown> {
      return (await session.send('Runtime.evaluate', { expression, returnByValue: true })).result.value;
    },
    async sample(alerts: number): Promise<PageSample> {
      const used = (await processSeconds()) - before;
      const slowdown = (await measureFixedWork()) / firstPace;
      const metric = await metricsAtRest();
      before = await processSeconds();
      return {
        heap: metric('JSHeapUsedSize'),
        nodes: metric('Nodes'),
        listeners: metric('JSEventListeners'),
        documents: metric('Documents'),
        msPerAlert: (1000 * used) / alerts / slowdown,
      };
    },
  };
}

/** The resident memory of all renderers of a browser. */
export async function processBytes(browser: Browser): Promise<number> {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  await session.detach();
  const sizes = processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => residentBytes(id));
  return sizes.reduce((sum, size) => sum + size, 0);
}

function residentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes ?? 0) * 1024;
}

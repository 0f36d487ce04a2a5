import axe from 'axe-core';
import type { Page } from 'playwright-core';

/** What axe-core finds wrong with the page as it stands: the rule, and the elements that break it. */
export async function violations(page: Page): Promise<string[]> {
  // Evaluated by the browser's debugger, which the page's policy does not bind.
  await page.evaluate(axe.source);
  const { violations: found } = await page.evaluate(() =>
    // Describing the elements that pass would take most of the time.
    (Reflect.get(window, 'axe') as typeof axe).run({ resultTypes: ['violations'] }),
  );
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`);
}

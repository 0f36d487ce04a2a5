import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { seed } from '../../../sdk/test/seeded.ts';

/** Every width with every language and every scheme, in four of the eight combinations. */
export const pageVariants = [
  { name: 'desktop-light-en', width: 1280, colorScheme: 'light', locale: 'en-US' },
  { name: 'desktop-dark-th', width: 1280, colorScheme: 'dark', locale: 'th-TH' },
  { name: 'phone-dark-en', width: 390, colorScheme: 'dark', locale: 'en-US' },
  { name: 'phone-light-th', width: 390, colorScheme: 'light', locale: 'th-TH' },
] as const;

/**
 * Of the variants of a page that a test examines: one, which the seed chooses. All of them with `npm run proof -- pages`,
 * and where pictures are wanted.
 */
export function chosenVariants<Variant>(variants: readonly Variant[]): readonly Variant[] {
  return process.env.PROOF || process.env.SCREENSHOTS
    ? variants
    : variants.filter((_, index) => index === seed % variants.length);
}

/** How wide the page is. An element can be found, and measured, before the page's style sheets have come. */
export async function pageWidth(page: Page): Promise<number> {
  await page.waitForLoadState();
  return page.evaluate(() => document.documentElement.scrollWidth);
}

/** What axe-core finds wrong with the page as it stands: the rule, and the elements that break it. */
export async function violations(page: Page): Promise<string[]> {
  await page.waitForLoadState();
  // Evaluated by the browser's debugger, which the page's policy does not bind.
  await page.evaluate(axe.source);
  const { violations: found } = await page.evaluate(() =>
    // Describing the elements that pass would take most of the time.
    (Reflect.get(window, 'axe') as typeof axe).run({ resultTypes: ['violations'] }),
  );
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`);
}

import type { Page } from 'playwright-core';
import sharp from 'sharp';

interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/**
 * Runs in the page: the elements whose box leaves its parent's or the screen. What is hidden, drawn (SVG) or folded away
 * is passed over. `tall`: the page may be taller than the screen.
 */
export function strayBoxes({ tall }: { tall: boolean }): string[] {
  const room = 1.5;
  const skipped =
    'svg, .scale, .menu .name, .visually-hidden, .skip, .menu-body, thead, nav, [hidden], option, details:not([open]) > div';
  const strays: string[] = [];
  const [width, height] = [innerWidth, tall ? Number.POSITIVE_INFINITY : innerHeight];
  const name = (element: Element) => `${element.tagName.toLowerCase()}.${element.className}`;
  const within = (box: Box, outer: Box) =>
    box.left >= outer.left - room &&
    box.right <= outer.right + room &&
    box.top >= outer.top - room &&
    box.bottom <= outer.bottom + room;
  for (const element of document.body.querySelectorAll('*')) {
    const parent = element.parentElement;
    if (!parent || element.closest(skipped)) continue;
    for (const box of element.getClientRects()) {
      if (box.width === 0 || box.height === 0) continue;
      const seen = { left: 0, top: tall ? Number.NEGATIVE_INFINITY : 0, right: width, bottom: height };
      if (!within(box, seen)) strays.push(`${name(element)} leaves the screen`);
      const own = getComputedStyle(parent).display;
      // An inline parent has no box of its own, only those of its lines.
      if (own !== 'inline' && own !== 'contents' && !within(box, parent.getBoundingClientRect()))
        strays.push(`${name(element)} leaves ${name(parent)}`);
    }
  }
  if (document.documentElement.scrollWidth > width) strays.push('the page is wider than the screen');
  return strays;
}

/**
 * How many pixels differ between two pictures of the page outside of these boxes and a little room around them. Pixels
 * that differ in a third one, taken like the first, do not count: they change by themselves.
 */
export async function differingPixels(
  before: Buffer,
  after: Buffer,
  boxes: readonly Box[],
  room = 1,
  again = before,
): Promise<number> {
  const [a, b, c] = await Promise.all(
    [before, after, again].map((png) => sharp(png).raw().toBuffer({ resolveWithObject: true })),
  );
  if (!a || !b || !c || a.data.length !== b.data.length || a.data.length !== c.data.length)
    return Number.POSITIVE_INFINITY;
  const { width, height, channels } = a.info;
  const inside = (x: number, y: number) =>
    boxes.some((box) => x >= box.left - room && x <= box.right + room && y >= box.top - room && y <= box.bottom + room);
  let count = 0;
  for (let y = 0; y < height; y++) {
    const [start, end] = [y * width * channels, (y + 1) * width * channels];
    if (a.data.compare(b.data, start, end, start, end) === 0) continue;
    for (let x = 0; x < width; x++) {
      const [from, to] = [start + x * channels, start + (x + 1) * channels];
      const steady = a.data.compare(c.data, from, to, from, to) === 0;
      if (steady && a.data.compare(b.data, from, to, from, to) !== 0 && !inside(x, y)) count += 1;
    }
  }
  return count;
}

/** The boxes of these elements, in pixels of a picture of the whole page. */
export const boxesOf = (page: Page, selector: string): Promise<Box[]> =>
  page.$$eval(selector, (elements) =>
    elements.map((element) => {
      const { left, top, right, bottom } = element.getBoundingClientRect();
      return { left: left + scrollX, top: top + scrollY, right: right + scrollX, bottom: bottom + scrollY };
    }),
  );

/** Contrast of colours as WCAG 2 defines it, and whether an alert can be read over any picture. */
import type { Variation } from './variation.ts';

type Rgb = readonly [red: number, green: number, blue: number];

const channels = (colour: string): Rgb => [
  Number.parseInt(colour.slice(1, 3), 16),
  Number.parseInt(colour.slice(3, 5), 16),
  Number.parseInt(colour.slice(5, 7), 16),
];

function luminance(colour: Rgb): number {
  const [red, green, blue] = colour.map((channel) => {
    const share = channel / 255;
    return share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * (red ?? 0) + 0.7152 * (green ?? 0) + 0.0722 * (blue ?? 0);
}

function ratio(a: Rgb, b: Rgb): number {
  const [light, dark] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return ((light ?? 0) + 0.05) / ((dark ?? 0) + 0.05);
}

/** From 1 to 21. Colours are written as `#rrggbb`. */
export const contrast = (a: string, b: string): number => ratio(channels(a), channels(b));

/** How much of the picture behind shines through a card of glass; overlay.css says the same. */
const glass = 0.2;
const over = (card: Rgb, ground: number): Rgb => {
  const [red, green, blue] = card.map((channel) => channel * (1 - glass) + ground * glass);
  return [red ?? 0, green ?? 0, blue ?? 0];
};

/** Letters of an alert are large, the amount is larger still. */
const needed = { text: 4.5, accent: 3 } as const;

export interface Unreadable {
  readonly field: 'text' | 'accent' | 'shadow';
  /** What the colours reach; `null` if nothing lies between the letters and the stream. */
  readonly ratio: number | null;
}

/** The colour that surrounds letters without a card: black or white, whichever is further away. */
export const outlineColour = (text: string): '#000000' | '#ffffff' =>
  contrast(text, '#000000') >= contrast(text, '#ffffff') ? '#000000' : '#ffffff';

/** What cannot be read well. Without a card only letters with an outline are safe over any picture. */
export function unreadable(look: Pick<Variation, 'accent' | 'text' | 'background' | 'card' | 'shadow'>): Unreadable[] {
  if (look.card === 'none')
    return look.shadow === 'outline' || look.shadow === 'strong' ? [] : [{ field: 'shadow', ratio: null }];
  const card = channels(look.background);
  const grounds = look.card === 'glass' ? [over(card, 0), over(card, 255)] : [card];
  return (['text', 'accent'] as const).flatMap((field) => {
    const reached = Math.min(...grounds.map((ground) => ratio(channels(look[field]), ground)));
    return reached < needed[field] ? [{ field, ratio: reached }] : [];
  });
}

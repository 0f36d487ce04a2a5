/**
 * The looks of a creator's alerts: variations in the order of their amounts, as a draft, as published, and as they were
 * published before. This module holds the rules; service.ts stores them.
 */
import { isBuiltIn, type Variation } from '../browser/variation.ts';

export type Variations = readonly Variation[];

export const maxVariations = 10;
/** One creator's pictures and sounds, in drafts and earlier versions too. */
export const maxFiles = 40;
export const maxFileBytes = 60_000_000;
export const pictureBytes = 5_000_000;
export const soundBytes = 2_000_000;

type Look = Pick<
  Variation,
  'font' | 'size' | 'accent' | 'text' | 'background' | 'card' | 'shadow' | 'position' | 'entrance' | 'exit'
>;

/** Looks to start from. looks.test.ts checks that each can be read. */
export const readyMade = {
  market: {
    font: 'mitr',
    size: 110,
    accent: '#ffd166',
    text: '#fff8ec',
    background: '#7a1f2b',
    card: 'solid',
    shadow: 'none',
    position: 'bottom',
    entrance: 'rise',
    exit: 'fall',
  },
  arcade: {
    font: 'chakra',
    size: 105,
    accent: '#4df3ff',
    text: '#f4f0ff',
    background: '#160f33',
    card: 'glass',
    shadow: 'soft',
    position: 'top-right',
    entrance: 'slide',
    exit: 'slide',
  },
  letter: {
    font: 'mali',
    size: 120,
    accent: '#ffe066',
    text: '#ffffff',
    background: '#2b211a',
    card: 'none',
    shadow: 'outline',
    position: 'top',
    entrance: 'zoom',
    exit: 'fade',
  },
} as const satisfies Record<string, Look>;

export type ReadyMade = keyof typeof readyMade;
export const readyMadeNames = Object.keys(readyMade) as ReadyMade[];

/** All variations with this look. Amounts, texts, pictures and sounds stay. */
export const withLook = (variations: Variations, name: ReadyMade): Variations =>
  variations.map((variation) => ({ ...variation, ...readyMade[name] }));

const byAmount = (a: Variation, b: Variation): number => a.fromMinor - b.fromMinor;

/** Adds a copy of the variation that the amount has so far. Nothing if there is one from this amount, or no room. */
export function withAdded(variations: Variations, fromMinor: number): Variations | undefined {
  const model = variations.findLast((each) => each.fromMinor < fromMinor);
  if (!model || variations.length >= maxVariations || variations.some((each) => each.fromMinor === fromMinor))
    return undefined;
  return [...variations, { ...model, fromMinor }].sort(byAmount);
}

/** Puts `changed` in place of the variation from `fromMinor`. The first one stays from 0. */
export function withChanged(variations: Variations, fromMinor: number, changed: Variation): Variations | undefined {
  const others = variations.filter((each) => each.fromMinor !== fromMinor);
  const moved = fromMinor === 0 ? { ...changed, fromMinor: 0 } : changed;
  const taken = others.some((each) => each.fromMinor === moved.fromMinor);
  if (others.length === variations.length || taken) return undefined;
  return [...others, moved].sort(byAmount);
}

/** The first variation is for every amount and stays. */
export const withRemoved = (variations: Variations, fromMinor: number): Variations =>
  fromMinor === 0 ? variations : variations.filter((each) => each.fromMinor !== fromMinor);

/** The ids of the pictures and sounds that these variations use. */
export const filesOf = (variations: Variations): string[] =>
  variations.flatMap(({ picture, sound }) => [
    ...(picture === null ? [] : [picture]),
    ...(isBuiltIn(sound) ? [] : [sound]),
  ]);

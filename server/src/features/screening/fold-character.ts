/**
 * One character as the matcher reads it. Each is folded once: a byte for each code point says how it folds, so nothing is
 * evicted, and no text makes the server fold a character again. Most fold to themselves or are a gap. The others are
 * 18,000 by Unicode's tables, and take 11 MB if all of them were met.
 */
import { isDeepStrictEqual } from 'node:util';
import { letterReadings, lookAlikes, signReadings } from './look-alikes.ts';

/** What may stand between two units. A word goes on over an apostrophe. */
export const noGap = 0;
export const apostrophe = 1;
export const punctuation = 2;
export const space = 3;

/** A part of what the character is read as. */
export interface FoldedUnit {
  /** What it may be read as: code points of letters, the usual reading first. */
  readonly readings: readonly number[];
  readonly isLetter: boolean;
  /** A sign may also be punctuation. */
  readonly isSign: boolean;
  readonly isThai: boolean;
}

interface Folded {
  /** The gap that the character is, if it is no unit. */
  readonly gap: number;
  readonly mask: number;
  readonly units: readonly FoldedUnit[];
}

const ignored = /^[\p{Default_Ignorable_Code_Point}\p{Cf}\p{M}]$/u;
const apostrophes = /^['’‘ʼ＇`´]$/;
const blank = /^[\p{White_Space}\u2800]$/u;
const thaiLetter = /^[\u0e01-\u0e4e]$/;

export const codeOf = (letter: string): number => letter.codePointAt(0) ?? 0;

export const noMask = 0;
const dot = 1;
export const star = 2;
const maskOf = (character: string): number =>
  /^[*＊∗⁎✱•●#]$/.test(character) ? star : /^[._]$/.test(character) ? dot : noMask;

const gapOnly = (gap: number, mask = noMask): Folded => ({ gap, mask, units: [] });
const gaps = [
  gapOnly(noGap),
  gapOnly(space),
  gapOnly(apostrophe),
  gapOnly(punctuation),
  gapOnly(punctuation, dot),
  gapOnly(punctuation, star),
];

/** By code point. Those of `other` are in `others`; from `firstGap` on they are an index of `gaps`. */
const kinds = new Uint8Array(0x110000);
const unknown = 0;
const itself = 1;
const other = 2;
const firstGap = 3;
const others = new Map<number, Folded>();

export function foldCharacter(code: number): Folded {
  const kind = kinds[code] ?? unknown;
  const folded = kind === itself ? foldedToItself(code) : kind >= firstGap ? gaps[kind - firstGap] : others.get(code);
  return folded ?? foldAndKeep(code);
}

const foldedToItself = (code: number): Folded => ({
  gap: noGap,
  mask: noMask,
  units: [{ readings: [code], isLetter: true, isSign: false, isThai: false }],
});

function foldAndKeep(code: number): Folded {
  const folded = foldAnew(String.fromCodePoint(code));
  const { gap, mask, units } = folded;
  if (units.length === 0) kinds[code] = firstGap + gaps.findIndex((each) => each.gap === gap && each.mask === mask);
  else if (isDeepStrictEqual(folded, foldedToItself(code))) kinds[code] = itself;
  else {
    kinds[code] = other;
    others.set(code, folded);
  }
  return folded;
}

function foldAnew(character: string): Folded {
  if (ignored.test(character) && !thaiLetter.test(character)) return gapOnly(noGap);
  if (blank.test(character)) return gapOnly(space);
  if (apostrophes.test(character)) return gapOnly(apostrophe);
  const decomposed = thaiLetter.test(character)
    ? character
    : (enclosedLetter(character) ?? character.normalize('NFKD'));
  const units = [...decomposed].flatMap((part) => foldPart(part));
  return units.length > 0 ? { gap: noGap, mask: noMask, units } : gapOnly(punctuation, maskOf(character));
}

function foldPart(part: string): FoldedUnit[] {
  const lower = part.toLowerCase();
  const sign = signReadings.get(lower);
  if (sign !== undefined) return [unitOf(sign, { isLetter: false, isSign: !/\p{Nd}/u.test(part) })];
  const letter = lookAlikes.get(lower) ?? lower;
  if (thaiLetter.test(letter) || /^[\p{L}\p{Nl}]$/u.test(letter))
    return [
      unitOf(letterReadings.get(part) ?? letterReadings.get(letter) ?? letter, { isLetter: true, isSign: false }),
    ];
  return [];
}

const unitOf = (readings: string, rest: Pick<FoldedUnit, 'isLetter' | 'isSign'>): FoldedUnit => ({
  readings: [...readings].map(codeOf),
  isThai: thaiLetter.test(readings.slice(0, 1)),
  ...rest,
});

/** Letters in a box or a circle that Unicode does not decompose, and those that flags are made of. */
const enclosedRows = [0x1f150, 0x1f170, 0x1f1e6];

function enclosedLetter(character: string): string | undefined {
  const code = character.codePointAt(0) ?? 0;
  const row = enclosedRows.find((first) => code >= first && code < first + 26);
  return row === undefined ? undefined : String.fromCodePoint(97 + code - row);
}

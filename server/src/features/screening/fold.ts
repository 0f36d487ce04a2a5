/**
 * A text as the matcher reads it: letters without case, accents and invisible characters, in one script where they look
 * alike, each with its place in the original text. Invariants:
 *
 * - Marks are dropped, except Thai vowels and tone marks, which make another word. A Thai mark is not repeated.
 * - Digits and signs that are read as letters are units of their own (`isLetter` is false).
 * - Every other character is a gap before the next unit: an apostrophe, punctuation or white space.
 */
import { letterReadings, lookAlikes, signReadings } from './look-alikes.ts';

/** What may stand between two units. A word goes on over an apostrophe. */
export const noGap = 0;
export const apostrophe = 1;
export const punctuation = 2;
export const space = 3;

export interface Unit {
  /** What the character may be read as: code points of letters, the usual reading first. */
  readonly readings: readonly number[];
  readonly isLetter: boolean;
  /** A sign may also be punctuation. */
  readonly isSign: boolean;
  readonly isThai: boolean;
  /** What stands between the unit before and this one. */
  readonly gap: number;
  /** How many characters that may stand for a letter fill the gap: `f**k`. 0 if anything else is in it. */
  readonly masks: number;
  /** All of them are asterisks or the like; a dot has other uses. */
  readonly isStarred: boolean;
  /** The place in the original text. */
  readonly start: number;
  readonly end: number;
}

interface Folded {
  /** The gap that the character is, if it is no unit. */
  readonly gap: number;
  readonly mask: number;
  readonly units: readonly Pick<Unit, 'readings' | 'isLetter' | 'isSign' | 'isThai'>[];
}

const ignored = /^[\p{Default_Ignorable_Code_Point}\p{Cf}\p{M}]$/u;
const apostrophes = /^['’‘ʼ＇`´]$/;
const blank = /^[\p{White_Space}\u2800]$/u;
const thaiLetter = /^[\u0e01-\u0e4e]$/;
const thaiMark = /^[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e]$/;
const thaiTone = /^[\u0e48-\u0e4c]$/;

const isTone = (code: number): boolean => thaiTone.test(String.fromCodePoint(code));

/** Whether the code point is a Thai vowel sign or tone mark, which belongs to the letter before. */
export const isThaiMark = (code: number): boolean => thaiMark.test(String.fromCodePoint(code));

export function fold(text: string): Unit[] {
  const units: Unit[] = [];
  let gap = noGap;
  let masks = 0;
  let weakest = star;
  let at = 0;
  for (const character of text) {
    const start = at;
    at += character.length;
    const { gap: own, mask, units: folded } = foldCharacter(character);
    gap = Math.max(gap, own);
    if (own !== noGap) {
      masks += 1;
      weakest = Math.min(weakest, mask);
    }
    for (const unit of folded) {
      const { readings, isLetter, isSign, isThai } = unit;
      const known = weakest === noMask ? 0 : masks;
      const isStarred = weakest === star;
      const added = { readings, isLetter, isSign, isThai, gap, masks: known, isStarred, start, end: at };
      gap = noGap;
      masks = 0;
      weakest = star;
      if (!joinThai(units, added)) units.push(added);
    }
  }
  return units;
}

const codeOf = (letter: string): number => letter.codePointAt(0) ?? 0;
const saraE = codeOf('เ');
const saraAe = codeOf('แ');
const nikhahit = codeOf('\u0e4d');
const saraAa = codeOf('า');
const saraAm = codeOf('ำ');

/**
 * Two เ are one แ, a mark is written once, ำ may be written in two parts, also around a tone mark, and a vowel sign
 * stands before the tone mark. Answers whether the unit needs no place of its own.
 */
function joinThai(units: Unit[], unit: Unit): boolean {
  const before = units.at(-1);
  if (!before?.isThai || !unit.isThai || unit.gap === space) return false;
  const [last, code] = [before.readings[0] ?? 0, unit.readings[0] ?? 0];
  const isMark = isThaiMark(code);
  const joined =
    last === code && isMark
      ? last
      : last === saraE && code === saraE
        ? saraAe
        : last === nikhahit && code === saraAa
          ? saraAm
          : undefined;
  if (joined !== undefined) {
    units[units.length - 1] = { ...before, readings: [joined], end: unit.end };
    return true;
  }
  const nikhahitBefore = units.at(-2);
  if (code === saraAa && isTone(last) && nikhahitBefore?.readings[0] === nikhahit && before.gap !== space) {
    const { start, gap } = nikhahitBefore;
    units.splice(-2, 2, { ...before, start, gap }, { ...unit, readings: [saraAm] });
    return true;
  }
  if (isMark && !isTone(code) && isTone(last)) {
    units[units.length - 1] = { ...before, readings: unit.readings, end: unit.end };
    units.push({ ...unit, readings: before.readings, start: before.start });
    return true;
  }
  return false;
}

const noMask = 0;
const dot = 1;
const star = 2;
const maskOf = (character: string): number =>
  /^[*＊∗⁎✱•●#]$/.test(character) ? star : /^[._]$/.test(character) ? dot : noMask;

const gapOnly = (gap: number, mask = noMask): Folded => ({ gap, mask, units: [] });

/** Folded characters. There are more than a million characters: those beyond the bound are folded each time. */
const known = new Map<string, Folded>();
const maxKnown = 5000;

function foldCharacter(character: string): Folded {
  const folded = known.get(character);
  if (folded) return folded;
  const fresh = foldAnew(character);
  if (known.size < maxKnown) known.set(character, fresh);
  return fresh;
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

type FoldedUnit = Folded['units'][number];

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

const unitOf = (readings: string, rest: Pick<Unit, 'isLetter' | 'isSign'>): FoldedUnit => ({
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

/** White space and what does not show. */
const unseen = /[\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Cf}]/gu;

/**
 * Equal for names that read alike: no letter twice in a row, digits as letters. A digit counts as often as it stands:
 * GUEST_1 and GUEST_11 are two. A name without letters and digits is its signs.
 */
export function nameKey(name: string): string {
  let key = '';
  let last = 0;
  for (const { readings, isLetter, isSign } of fold(name)) {
    const [code = 0] = readings;
    if (code !== last || !(isLetter || isSign)) key += String.fromCodePoint(code);
    last = code;
  }
  return key === '' ? name.normalize('NFKC').replace(unseen, '') : key;
}

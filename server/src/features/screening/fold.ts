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
  for (let at = 0; at < text.length; ) {
    const start = at;
    const code = text.codePointAt(at) ?? 0;
    at += code > 0xffff ? 2 : 1;
    const { gap: own, mask, units: folded } = foldCharacter(code);
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
      if (!isThai || !joinThai(units, added)) units.push(added);
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
  if (!before?.isThai || unit.gap === space) return false;
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

interface Gap extends Folded {
  readonly units: readonly never[];
}

const gapOnly = (gap: number, mask = noMask): Gap => ({ gap, mask, units: [] });
const nothing = gapOnly(noGap);
const gaps: readonly Gap[] = [
  nothing,
  gapOnly(space),
  gapOnly(apostrophe),
  gapOnly(punctuation),
  gapOnly(punctuation, dot),
  gapOnly(punctuation, star),
];

/**
 * How each code point folds, once it was met: a byte for each of the million, so nothing is evicted, and no text makes
 * the server fold a character twice. Most are a letter that folds to itself, or one of the gaps. `others` has at most the
 * 30,000 that Unicode decomposes or that have a case.
 */
const kinds = new Uint8Array(0x110000);
const unknown = 0;
const itself = 1;
const other = 2;
const firstGap = 3;
const others = new Map<number, Folded>();

function foldCharacter(code: number): Folded {
  const kind = kinds[code] ?? unknown;
  if (kind === itself) return foldedToItself(code);
  if (kind >= firstGap) return gaps[kind - firstGap] ?? nothing;
  return (kind === other ? others.get(code) : undefined) ?? meet(code);
}

const foldedToItself = (code: number): Folded => ({
  gap: noGap,
  mask: noMask,
  units: [{ readings: [code], isLetter: true, isSign: false, isThai: false }],
});

function meet(code: number): Folded {
  const folded = foldAnew(String.fromCodePoint(code));
  const gap = gaps.findIndex(
    (each) => folded.units.length === 0 && each.gap === folded.gap && each.mask === folded.mask,
  );
  if (gap >= 0) kinds[code] = firstGap + gap;
  else if (isItself(folded, code)) kinds[code] = itself;
  else {
    kinds[code] = other;
    others.set(code, folded);
  }
  return folded;
}

function isItself({ units: [unit, ...more] }: Folded, code: number): boolean {
  if (!unit || more.length > 0 || !unit.isLetter || unit.isThai) return false;
  return unit.readings.length === 1 && unit.readings[0] === code;
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
  const codes: number[] = [];
  let last = 0;
  for (const { readings, isLetter, isSign } of fold(name)) {
    const [code = 0] = readings;
    if (code !== last || !(isLetter || isSign)) codes.push(code);
    last = code;
  }
  return codes.length === 0 ? name.normalize('NFKC').replace(unseen, '') : String.fromCodePoint(...codes);
}

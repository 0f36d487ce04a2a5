/**
 * A text as the matcher reads it: letters without case, accents and invisible characters, in one script where they look
 * alike, each with its position in the original text. Invariants:
 *
 * - Marks are dropped, except Thai vowels and tone marks, which make another word. A Thai mark is not repeated.
 * - Digits and signs that are read as letters are units of their own (`isLetter` is false).
 * - Every other character is a gap before the next unit: an apostrophe, punctuation or white space.
 */
import { codeOf, type FoldedUnit, foldCharacter, noGap, noMask, space, star } from './fold-character.ts';

export interface Unit extends FoldedUnit {
  /** What stands between the unit before and this one. */
  readonly gap: number;
  /** How many characters that may stand for a letter fill the gap: `f**k`. 0 if anything else is in it. */
  readonly masks: number;
  /** All of them are asterisks or the like; a dot has other uses. */
  readonly isStarred: boolean;
  /** The position in the original text. */
  readonly start: number;
  readonly end: number;
}

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

const saraE = codeOf('เ');
const saraAe = codeOf('แ');
const nikhahit = codeOf('\u0e4d');
const saraAa = codeOf('า');
const saraAm = codeOf('ำ');

/**
 * Two เ are one แ, a mark is written once, ำ may be written in two parts, also around a tone mark, and a vowel sign
 * stands before the tone mark. `unit` is Thai. Returns whether it was joined to a unit before it.
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

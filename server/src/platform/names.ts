/**
 * The one rule for names that people choose and others trust: of accounts, apps and creators. Invariants:
 *
 * - A name can be seen, and nothing in it is invisible or changes the direction of text. Joiners and variation selectors
 *   are fine inside an emoji, and joiners between letters of a script that needs them.
 * - A name does not read as the product's or the operator's, however it is spelled: compared without case, marks,
 *   invisible characters and separators, with look-alike letters folded to one.
 *
 * A supporter's `display_name` is held to less: `hasControls` and `isBlank` only, as the API promises.
 */
import { isBlank } from './web/browser/text.ts';

export type NameProblem = 'blank' | 'invisible' | 'reserved';

/** They could hide or reorder what stands beside them. */
export const hasControls = (text: string): boolean => /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u.test(text);

/** `host`: the operator's, as in AUTH_URL; a name must not pass for it. */
export function nameProblem(name: string, host?: string): NameProblem | undefined {
  if (isBlank(name)) return 'blank';
  if (hidesCharacters(name)) return 'invisible';
  return isReserved(name, host) ? 'reserved' : undefined;
}

/** Something of the text cannot be seen, or changes the direction of what stands beside it. */
export const hidesCharacters = (text: string): boolean =>
  hasControls(text) || !text.isWellFormed() || hasInvisible(text);

const joiningScripts = [
  'Arabic',
  'Bengali',
  'Devanagari',
  'Gujarati',
  'Gurmukhi',
  'Kannada',
  'Khmer',
  'Malayalam',
  'Mongolian',
  'Myanmar',
  'Oriya',
  'Sinhala',
  'Syriac',
  'Tamil',
  'Telugu',
];
/** A joiner between letters of one of these scripts. */
const joinedText = joiningScripts
  .map((script) => `(?<=\\p{Script=${script}}\\p{M}*)[\\u200c\\u200d](?=\\p{Script=${script}})`)
  .join('|');

/** The expressions are made at the first use: making them takes 40 ms, which every start would wait for. */
function hasInvisible(name: string): boolean {
  const emoji = /\p{RGI_Emoji}|\p{Emoji}\ufe0f\u20e3?|\p{Extended_Pictographic}[\ufe0e\ufe0f]/gv;
  const joined = /[\u200c\u200d]/.test(name) ? new RegExp(joinedText, 'gu') : '';
  /** Variants of ideographs, which Japanese names use. */
  const ideographs = /(\p{Script=Han})[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]/gu;
  const invisible = /[\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\u2800\ufff9-\ufffc]/u;
  return invisible.test(name.replace(emoji, '').replace(joined, '').replace(ideographs, '$1'));
}

/** Letters and digits that look like a Latin letter, and the letter. */
const lookAlikes: Readonly<Record<string, string>> = {
  a: '4@аαａɑᴀаӑӓᎪ𐌀',
  b: '8вƄ',
  c: 'сϲᴄ',
  d: 'ԁ',
  e: '3еєℯᴇ',
  h: 'һ',
  i: '1l|!іιɩɪıӏⅼᎥ',
  j: 'јϳɉʝᴊյ',
  k: 'кκ',
  m: 'мᴍｍⅿм',
  n: 'пηոռɴήπ',
  o: '0оοօσ',
  p: 'рρ',
  r: 'гᴦ',
  s: '5$ѕ',
  t: '7тτ',
  u: 'υцս',
  v: 'νѵ',
  y: 'уγ',
  x: 'хχ',
};
const letterOf = new Map(
  Object.entries(lookAlikes).flatMap(([letter, others]) => [...others].map((other) => [other, letter] as const)),
);

/** One spelling for all names that look the same. */
function fold(text: string): string {
  const plain = text
    .normalize('NFKC')
    .toLowerCase()
    .normalize('NFD')
    // Marks of Thai are part of the word; those of Latin, Greek and Cyrillic are decoration.
    .replace(/[\u0300-\u036f\u0483-\u0489\p{Default_Ignorable_Code_Point}]/gu, '')
    .normalize('NFC')
    .replace(/[^\p{L}\p{M}\p{N}|!@$]/gu, '');
  return [...plain]
    .map((letter) => letterOf.get(letter) ?? letter)
    .join('')
    .replaceAll('rn', 'm')
    .replaceAll('nn', 'm')
    .replaceAll('vv', 'w');
}

/** Refused inside any word of a name. Also refused as the whole name, with or without spaces and roles. */
const product = 'namjai';
/** Refused as the whole name, with or without roles. The word means generosity, so other names may contain it. */
const productInThai = 'น้ำใจ';
/** A name that consists of these alone is refused. */
const roles = [
  ...['admin', 'administrator', 'operator', 'official', 'moderator', 'support', 'system', 'staff', 'team', 'security'],
  ...['แอดมิน', 'ผู้ดูแล', 'ผู้ดูแลระบบ', 'ทีมงาน', 'ทางการ', 'เจ้าหน้าที่', 'ฝ่ายสนับสนุน', 'ระบบ'],
];

function isReserved(name: string, host: string | undefined): boolean {
  const words = name
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .split(/[^\p{L}\p{M}\p{N}|!@$]+/u)
    .map(fold)
    .filter(Boolean);
  // Folded here and not when the module is loaded: that would take 25 ms of every start.
  const roleWords = roles.map(fold);
  const rest = words.filter((word) => !roleWords.includes(word)).join('');
  if (words.length > 0 && ['', product, fold(productInThai)].includes(rest)) return true;
  if (words.some((word) => word.includes(product))) return true;
  return isPublicHost(host) && words.join('') === fold(host ?? '');
}

const isPublicHost = (host = ''): boolean => host !== '' && host !== 'localhost' && !/^[\d.:[\]]+$/.test(host);

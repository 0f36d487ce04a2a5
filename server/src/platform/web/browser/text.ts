/**
 * How a text that a person wrote is shown: on pages, on the overlay, in files and in logs. What is stored, and what the
 * API sends, stays as it was sent. Invariants of a text for show:
 *
 * - It is in NFC and has at most four combining marks in a row, so that no letter grows over its neighbours.
 * - It has at most two line breaks in all; a further one is a space. White space does not repeat.
 * - It has no control and no bidi control characters, and no invisible ones but joiners, variation selectors, tags of
 *   flags and the zero-width space, none of them twice in a row, and the word joiner before a Thai letter.
 * - It can be broken into lines: a browser never breaks within a grapheme, and one person can join a hundred characters
 *   to one.
 * - It ends with an ellipsis if it was longer than allowed.
 *
 * The stylesheets add the rest: `.written` wraps anywhere, clips, and isolates the direction of its text.
 */
export interface Fit {
  /** The most code points. */
  readonly length?: number;
  /** The most line breaks. */
  readonly breaks?: number;
}

const maxMarks = 4;
/** The longest emoji have ten code points. */
const maxGrapheme = 12;
const defaultFit = { length: 2048, breaks: 2 };
/** For names and titles, which stand within a line. */
export const oneLine: Fit = { breaks: 0 };

/** Invisible characters that a script or an emoji may need. */
const needed = '\\u200b-\\u200d\\ufe00-\\ufe0f\\u{e0020}-\\u{e007f}\\u{e0100}-\\u{e01ef}';
/**
 * whole-words.ts keeps our own Thai words whole with it. It stays before a letter only: before a mark it would divide a
 * run of marks, and so hide that there are too many.
 */
const thaiWordJoiner = '(?<=[\\u0e01-\\u0e4e])\\u2060(?=[\\u0e01-\\u0e2e\\u0e40-\\u0e44])';
const lineBreaks = /\r\n|[\n\v\f\r\x85\u2028\u2029]/g;
const hidden = new RegExp(
  `(?![\\n${needed}]|${thaiWordJoiner})[\\p{Cc}\\p{Bidi_Control}\\p{Default_Ignorable_Code_Point}\\ufff9-\\ufffb]`,
  'gu',
);
const repeated = /([\u200b-\u200d])[\u200b-\u200d]+|([\ufe00-\ufe0f])[\ufe00-\ufe0f]+/g;
const spaces = /[\p{Zs}\t]+/gu;
const markRuns = /[\p{M}\u200b-\u200d]{5,}/gu;
const rightToLeft =
  /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Adlam}]/u;

/** Words of printable ASCII and amounts, with a space between them: there is nothing to change. Most texts are such. */
const plain = /^(?:[!-~฿]+(?:[ \u00a0][!-~฿]+)*)?$/;

/** A page shows the same names and messages again and again, and with emoji or marks each takes up to 0.1 ms. */
const maxRemembered = { texts: 500, length: 600 };
const remembered = new Map<string, string>();

export function displayText(text: string, fit: Fit = {}): string {
  const { length, breaks } = { ...defaultFit, ...fit };
  if (text.length <= length && plain.test(text)) return text;
  if (text.length > maxRemembered.length || length !== defaultFit.length) return prepare(text, length, breaks);
  const key = `${breaks} ${text}`;
  const known = remembered.get(key);
  if (known !== undefined) return known;
  const shown = prepare(text, length, breaks);
  if (remembered.size >= maxRemembered.texts) remembered.clear();
  remembered.set(key, shown);
  return shown;
}

function prepare(text: string, length: number, breaks: number): string {
  const visible = text
    .toWellFormed()
    .normalize('NFC')
    .replace(lineBreaks, '\n')
    .replace(spaces, ([first = ' ']) => (first === '\t' ? ' ' : first))
    .replace(hidden, '')
    .replace(repeated, '$1$2')
    .replace(markRuns, fewMarks);
  return breakGraphemes(cut(keepBreaks(visible, breaks), length).trim());
}

/** Within a sentence of ours, a text that runs from right to left must not reorder the words around it. */
export const withinSentence = (text: string): string => {
  const shown = displayText(text, oneLine);
  return rightToLeft.test(shown) ? `\u2068${shown}\u2069` : shown;
};

/** The first of these that is not blank. */
export function displayName(...names: readonly (string | null)[]): string {
  for (const name of names) {
    const shown = displayText(name ?? '', oneLine);
    if (!isBlank(shown)) return shown;
  }
  return '…';
}

/** Nothing of it can be seen. */
export const isBlank = (text: string): boolean =>
  !/[^\p{White_Space}\p{Default_Ignorable_Code_Point}\p{M}\p{Cc}\u2800]/u.test(text);

function fewMarks(run: string): string {
  let marks = 0;
  let joined = false;
  let kept = '';
  for (const character of run) {
    const joiner = character >= '\u200b' && character <= '\u200d';
    if (!joiner) marks += 1;
    if (joiner ? !joined && marks <= maxMarks : marks <= maxMarks) kept += character;
    joined = joiner;
  }
  return kept;
}

/**
 * Texts whose graphemes are short once their marks are few: Latin, Greek, Cyrillic, Thai, kana, Han, Hangul syllables, and
 * emoji of at most four parts. A character has one alternative only, or the test would take exponential time.
 */
const letters =
  '\\0-\\u00a8\\u00aa-\\u00ad\\u00af-\\u02ff\\u0370-\\u0482\\u048a-\\u052f\\u0e00-\\u0e32\\u0e34-\\u0e7f\\u2010-\\u2027\\u2060' +
  '\\u3041-\\u3096\\u30a0-\\u30ff\\u4e00-\\u9fff\\uac00-\\ud7a3';
/** It joins the letter before it, and is no mark. */
const saraAm = '\\u0e33(?![\\u0e33\\p{M}])';
const picture = '\\p{Extended_Pictographic}[\\ufe0f\\u{1f3fb}-\\u{1f3ff}]?';
const shortGraphemes = new RegExp(`^(?:[${letters}]|${saraAm}|${picture}(?:\\u200d${picture}){0,3}(?!\\p{M}))*$`, 'u');

let segmenter: Intl.Segmenter | undefined;

/** What a reader sees as letters. To make a segmenter takes longer than to use it. */
export function graphemes(text: string): Iterable<{ readonly segment: string }> {
  segmenter ??= new Intl.Segmenter();
  return segmenter.segment(text);
}

function breakGraphemes(text: string): string {
  if (text.length <= maxGrapheme || shortGraphemes.test(text)) return text;
  let broken = '';
  for (const { segment } of graphemes(text)) {
    const characters = [...segment];
    for (let at = 0; at < characters.length; at += maxGrapheme)
      broken += (at === 0 ? '' : '\u200b') + characters.slice(at, at + maxGrapheme).join('');
  }
  return broken;
}

function keepBreaks(text: string, breaks: number): string {
  let left = breaks;
  return text
    .trim()
    .replace(/ *\n */g, '\n')
    .replace(/\n+/g, (run) => {
      const kept = Math.min(run.length, left);
      left -= kept;
      return kept === 0 ? ' ' : '\n'.repeat(kept);
    });
}

function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  const characters = [...text];
  if (characters.length <= length) return text;
  const start = characters.slice(0, length - 1).join('');
  return `${start.replace(/[\u200b-\u200d\u2060]+$/u, '').trimEnd()}…`;
}

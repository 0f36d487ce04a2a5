/** Links and long numbers in a text, each as a span of it. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/** Endings that make two words with a dot an address, also without a scheme. */
const topLevels =
  'com|net|org|info|biz|io|gg|tv|me|co|th|app|dev|xyz|shop|store|online|site|club|link|live|fun|top|vip|bet|win|casino|ly|be|to|ru|cn|uk|us|jp|kr|sg|my|vn|id|in|asia|page|click|life|pro|cc|ws';
const dot = '\\s?(?:[.。．｡]|\\(\\.\\)|\\[\\.\\]|\\(dot\\)|\\[dot\\])\\s?';
const links = new RegExp(
  `(?:https?|hxxps?)\\s?:\\s?/\\s?/\\s?\\S+|www${dot}\\S+|(?:[\\p{L}\\p{N}\\p{M}-]{2,63}(?:${dot}|\\s+dot\\s+)|(?<![\\p{L}\\p{N}\\p{M}.])\\p{L}\\.)(?:${topLevels})(?![\\p{L}\\p{N}\\p{M}])(?:/\\S*)?`,
  'giu',
);

/** Seven digits or more, also with spaces and marks between them. */
const numbers = /\p{Nd}(?:[\s.\-–()/*_|]{0,2}\p{Nd}){6,}/gu;

/** What does not show, and what encloses a digit (a key of a keypad). */
const dropped = /^[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Me}]$/u;

/** The text as it is read: plain letters and digits, without what does not show. `offsets` are those in the original. */
function plain(text: string): { readonly read: string; readonly offsets: readonly number[] } {
  let read = '';
  const offsets: number[] = [];
  let at = 0;
  for (const character of text) {
    const folded = dropped.test(character) ? '' : character.normalize('NFKC');
    for (let i = 0; i < folded.length; i++) offsets.push(at);
    read += folded;
    at += character.length;
  }
  offsets.push(at);
  return { read, offsets };
}

function spans(pattern: RegExp, hint: RegExp, text: string): Span[] {
  if (!hint.test(text)) return [];
  const { read, offsets } = plain(text);
  return [...read.matchAll(pattern)].map(({ index, 0: found }) => ({
    start: offsets[index] ?? 0,
    end: offsets[index + found.length] ?? text.length,
  }));
}

/** Most texts have none of these characters, and are not searched. */
const linkHint = /[.。．｡․:：]|dot|ｄｏｔ/i;
const numberHint = /[0-9²³¹\u0660-\uabf9\uff10-\uff19\u{104a0}-\u{1fbf9}]/u;

export const findLinks = (text: string): Span[] => spans(links, linkHint, text);
export const findNumbers = (text: string): Span[] => spans(numbers, numberHint, text);

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
  `(?:https?|hxxps?)\\s?:\\s?/\\s?/\\s?\\S+|www${dot}\\S+|[\\p{L}\\p{N}-]{2,}(?:${dot}|\\s+dot\\s+)(?:${topLevels})(?![\\p{L}\\p{N}\\p{M}])(?:/\\S*)?`,
  'giu',
);

/** Seven digits or more, also with spaces and marks between them. */
const numbers = /\p{Nd}(?:[\s.\-–()/]{0,2}\p{Nd}){6,}/gu;

/** Fullwidth forms, the ones that people write, keep their length when they are folded one by one. */
const plain = (text: string): string =>
  text.replace(/[\uff01-\uff5e]/g, (wide) => String.fromCharCode(wide.charCodeAt(0) - 0xfee0));

const spans = (pattern: RegExp, hint: RegExp, text: string): Span[] =>
  hint.test(text)
    ? [...plain(text).matchAll(pattern)].map(({ index, 0: found }) => ({ start: index, end: index + found.length }))
    : [];

/** Most texts have none of these characters, and are not searched. */
const linkHint = /[.。．｡:：]|dot|ｄｏｔ/i;
const numberHint = /[0-9\u0660-\uabf9\uff10-\uff19\u{104a0}-\u{1fbf9}]/u;

export const findLinks = (text: string): Span[] => spans(links, linkHint, text);
export const findNumbers = (text: string): Span[] => spans(numbers, numberHint, text);

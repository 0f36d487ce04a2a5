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

const spans = (pattern: RegExp, text: string): Span[] =>
  [...plain(text).matchAll(pattern)].map(({ index, 0: found }) => ({ start: index, end: index + found.length }));

export const findLinks = (text: string): Span[] => spans(links, text);
export const findNumbers = (text: string): Span[] => spans(numbers, text);

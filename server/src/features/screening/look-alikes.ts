/**
 * Characters that are read as a letter of another script, or as a letter although they are none. Keys are in lower case
 * and compatibility-decomposed (NFKD), as fold.ts looks them up.
 */

/** Letters that look like a Latin letter. */
const latin: Readonly<Record<string, string>> = {
  a: 'αаɑᴀɐꭺ∂ӕ',
  b: 'вьƅɓʙßβъъƀ',
  c: 'сϲᴄↄƈ',
  d: 'ԁɗᴅđժɖ',
  e: 'еєεɛəᴇ℮ҽɘǝ',
  f: 'ƒꜰғϝք',
  g: 'ɡցɢǥɠ',
  h: 'һнʜħհɦ',
  i: 'іιɪıɩ',
  j: 'јʝϳ',
  k: 'кκᴋқҡƙ',
  l: 'ӏʟłǀɭ',
  m: 'мᴍɱ',
  n: 'пηɴոռŋɲ',
  o: 'оοσօᴏøөɵ',
  p: 'рρᴘþƥ',
  q: 'ԛզɋ',
  r: 'гʀɾᴦɍя',
  s: 'ѕꜱʂ',
  t: 'тτᴛŧƭ',
  u: 'υսᴜμʋцɥ',
  v: 'ѵνᴠ',
  w: 'ωшщԝᴡѡɯ',
  x: 'хχ',
  y: 'уγʏүყɣ',
  z: 'ᴢʐƶʒ',
};

/** Thai letters that are written for another one. */
const thai: Readonly<Record<string, string>> = { ค: 'ฅ', ข: 'ฃ', า: 'ๅ' };

export const lookAlikes: ReadonlyMap<string, string> = new Map(
  [...Object.entries(latin), ...Object.entries(thai)].flatMap(([letter, others]) =>
    [...others].map((other) => [other, letter] as const),
  ),
);

/** Digits and signs that are read as a letter. The first reading is the usual one. */
export const signReadings: ReadonlyMap<string, string> = new Map(
  Object.entries({
    '0': 'o',
    '1': 'il',
    '2': 'z',
    '3': 'e',
    '4': 'a',
    '5': 's',
    '6': 'bg',
    '7': 't',
    '8': 'b',
    '9': 'g',
    '๐': 'o',
    '@': 'a',
    $: 's',
    '!': 'il',
    '¡': 'i',
    '|': 'il',
    '+': 't',
    '†': 't',
    '€': 'e',
    '¢': 'c',
    '©': 'c',
    '¥': 'y',
    '₩': 'w',
    '×': 'x',
    '§': 's',
  }),
);

/** Letters that are also written for another one: a capital I for l, l for i, v for u, z for s. */
export const letterReadings: ReadonlyMap<string, string> = new Map([
  ['I', 'il'],
  ['l', 'li'],
  ['v', 'vu'],
  ['z', 'zs'],
]);

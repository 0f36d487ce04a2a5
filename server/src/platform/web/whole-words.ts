/**
 * Browsers find the ends of Thai words by a dictionary. It lacks these loan words and compounds, so a line may end in the
 * middle of one, at the marks below.
 */
const words = [
  'โอ|เวอร์|เลย์',
  'ค|รี|เอ|เตอร์',
  'คิว|อาร์|โค้ด',
  'พร้อม|เพย์',
  'พาส|คีย์',
  'วิด|เจ็ต',
  'เว็บ|ฮุก',
  'สตรี|ม',
  'โท|เคน',
  'ซ็|อก|เก็ต',
  'เป้า|หมาย',
  'แจ้ง|เตือน',
  'เชื่อม|ต่อ',
  'อัป|โหลด',
];

/** U+2060, an invisible character at which no line ends. */
const wordJoiner = '\u2060';
const joined = new Map(words.map((word) => [word.replaceAll('|', ''), word.replaceAll('|', wordJoiner)]));
const anyWord = new RegExp([...joined.keys()].join('|'), 'g');

export const keepWordsWhole = (thai: string): string => thai.replace(anyWord, (word) => joined.get(word) ?? word);

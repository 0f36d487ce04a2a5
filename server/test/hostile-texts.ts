/** Texts that try to leave their box, cover their neighbours, look like nothing or reorder what stands beside them. */
import { seed } from '../../sdk/test/seeded.ts';

const upTo = (length: number, unit: string): string => {
  const points = [...unit];
  return Array.from({ length }, (_, index) => points[index % points.length]).join('');
};
const long = (unit: string): string => upTo(255, unit);
const marked = (base: string, mark: string, count = 200): string => base + mark.repeat(count);

export const hostileTexts: Readonly<Record<string, string>> = {
  // Combining marks
  'marks above': marked('Z', '\u0301'),
  'marks below': marked('Z', '\u0323'),
  'marks through': marked('Z', '\u0336'),
  'enclosing marks': marked('Z', '\u20dd'),
  'many kinds of marks': long(
    'Z\u0300\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308\u0309\u030a\u030b\u030c\u030d\u030e\u030f',
  ),
  'every letter with forty marks': long(marked('H', '\u0310', 40)),
  'four marks on every letter': long('H\u0310\u0311\u0312\u0313'),
  'marks joined by joiners': long('Z\u0301\u200d\u0301\u200c'),
  'marks joined by graphemes': long('Z\u0301\u034f'),
  'marks on a space': marked(' ', '\u0310'),
  'marks on nothing': '\u0489'.repeat(255),
  'Cyrillic millions': marked('а', '\u0489'),
  'double marks': long('a\u0361\u0362\u035c'),
  'Arabic marks': long('ب\u064b\u064c\u064d\u064e\u064f\u0650\u0651\u0652'),
  'Tibetan stacks': long('ཧ\u0fb1\u0f90\u0f91\u0f92\u0f93\u0f94\u0f95'),
  'Devanagari stacks': long('क्ष्म्य्र्व'),
  // Thai
  'Thai without spaces': long('ขอบคุณสำหรับสตรีมสนุกๆนะครับ'),
  'Thai with two marks': long('ที่นี่มีน้ำใจก็ดีไม่ใช่หรือ'),
  'Thai tone marks': marked('ก', '\u0e49'),
  'Thai vowels above': marked('ก', '\u0e35'),
  'Thai marks above and below': long('ปู่\u0e38\u0e39\u0e35\u0e49\u0e4a\u0e4b\u0e4c\u0e4d\u0e4e'),
  'Thai maitaikhu': long('ก\u0e47\u0e47\u0e47\u0e47\u0e47\u0e47\u0e47\u0e47'),
  'Lao marks': long('ກ\u0eb5\u0ec9\u0ec9\u0ec9\u0ec9'),
  'Khmer stacks': long('ក\u17d2ខ\u17d2គ\u17d2ឃ\u17d2ង'),
  'Myanmar stacks': long('က\u1039ခ\u1039ဂ\u1039ဃ'),
  // Direction
  'right-to-left override': long('\u202eabc =1+1 '),
  'left-to-right override': long('\u202dשלום '),
  'unclosed isolates': long('\u2066\u2067\u2068x'),
  'unclosed embeddings': long('\u202a\u202bx'),
  'marks of direction': long('\u200e\u200f\u061ca'),
  Arabic: long('شكرا جزيلا على البث '),
  'Arabic without spaces': long('شكراجزيلا'),
  Hebrew: long('תודה רבה 123 (abc) '),
  'both directions': long('abc שלום 123 مرحبا '),
  'pops of direction': long('\u202c\u2069x'),
  // Invisible
  'zero-width spaces': long('\u200b'),
  'zero-width joiners': long('\u200d'),
  'zero-width spaces between letters': long('W\u200b'),
  'joiners between letters': long('W\u200d'),
  'byte order marks': long('\ufeffx'),
  'Hangul fillers': long('\u3164'),
  'Braille blanks': long('\u2800'),
  'soft hyphens': long('W\u00ad'),
  'no-break spaces': long('\u00a0'),
  'wide spaces': long('\u3000'),
  'no-break letters': long('W\u2060'),
  'no-break Thai letters': long('ก\u2060'),
  'no-break Thai marks': long('ก่\u2060่'),
  'control characters': long('\u0007\u0008\u001b[31mx'),
  'variation selectors': marked('a', '\ufe0f'),
  'tag characters': long('x\u{e0041}\u{e0042}'),
  annotations: long('\ufff9a\ufffab\ufffb'),
  // Emoji
  families: long('👨‍👩‍👧‍👦'),
  'one chain of people': long('👩\u200d'),
  'skin tones': long('👍🏽'),
  'skin tones alone': long('🏽'),
  flags: long('🇹🇭'),
  'half a flag': long('🇹'),
  'rainbow flags': long('🏳️‍🌈'),
  keycaps: long('1️⃣'),
  'flag of England': long('🏴󠁧󠁢󠁥󠁮󠁧󠁿'),
  // Graphemes without an end
  'Hangul letters': long('ᄀ'),
  'Hangul vowels': long('가ᅡ'),
  'Arabic number signs': long('\u0600'),
  'Thai am': long('ำ'),
  'voiced marks': long('ﾞ'),
  // Long and wide
  'one word of W': 'W'.repeat(255),
  'one word of small letters': 'i'.repeat(255),
  'the widest ligature': long('﷽'),
  cuneiform: long('𒐫'),
  'long address': `https://${'a'.repeat(247)}`,
  'no-break hyphens': long('W\u2011'),
  'full-width letters': long('Ｗ'),
  Chinese: long('謝謝你的直播'),
  'mathematical letters': long('𝕎𝖂'),
  'long s with stroke': long('⸻'),
  'ideographic description': long('⿰⿱'),
  // Lines
  '120 line breaks': 'a\n'.repeat(120),
  '255 line breaks': '\n'.repeat(255),
  'carriage returns': 'a\r\n'.repeat(80),
  'line separators': 'a\u2028'.repeat(120),
  'paragraph separators': 'a\u2029'.repeat(120),
  'form feeds': 'a\f\v\u0085'.repeat(60),
  tabs: 'a\t'.repeat(120),
  spaces: `a${' '.repeat(250)}b`,
  // Markup and formulas
  markup: '<img src=x onerror=alert(1)></td></table><style>*{font-size:99px}</style>',
  formulas: '=1+1;=2+2\t=3+3\n=4+4;"=5+5"',
};

/** What a tip of this text holds: a message of 255 and a name of 40 code points. */
export const asTip = (text: string): { displayName: string; message: string } => ({
  displayName: [...text].slice(0, 40).join(''),
  message: [...text].slice(0, 255).join(''),
});

export const worstTexts = ['marks above', 'one word of W', 'right-to-left override', 'Hangul letters'];

const parts = 3;
/**
 * For browsers, which take seconds for each: the worst ones and a third of the others, which third is the seed's choice.
 * `npm run proof -- texts` tries all.
 */
export const someTexts: readonly (readonly [name: string, text: string])[] = Object.entries(hostileTexts).filter(
  ([name], index) => process.env.PROOF || worstTexts.includes(name) || index % parts === seed % parts,
);

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hostileTexts } from '../../../test/hostile-texts.ts';
import { displayName, displayText, isBlank, withinSentence } from './browser/text.ts';
import { keepWordsWhole } from './whole-words.ts';

test('what people write in earnest is shown as it is', () => {
  for (const text of [
    'Great stream!',
    'ขอบคุณที่สตรีมนะครับ น้ำใจงามมาก ก็ดี ปู่ เปี๊ยก',
    '👨‍👩‍👧‍👦 🏳️‍🌈 🏴󠁧󠁢󠁥󠁮󠁧󠁿 1️⃣ 👩🏽‍❤️‍💋‍👨🏽 🇹🇭',
    'می‌خواهم شكرا',
    'क्‍ष धन्यवाद',
    'Việt Nam, Ελλάδα, 日本語, 한국어',
    'one\ntwo\n\tthree'.replace('\t', ''),
    '',
  ])
    assert.equal(displayText(text), text.normalize('NFC'));
});

test('amounts and dates are left as they are, and spaces around them are not', () => {
  for (const text of ['฿1,234.50', '1\u00a0Oct\u00a02026: ฿5.00 in 2 tips']) assert.equal(displayText(text), text);
  assert.equal(displayText('\u00a0฿5 \u00a0 now\u00a0'), '฿5 now');
  assert.equal(displayText('฿'.repeat(9), { length: 5 }), '฿฿฿฿…');
});

test('security 43: a text for show has few marks, few line breaks, no control and no bidi control', () => {
  for (const [name, text] of Object.entries(hostileTexts)) {
    const shown = displayText(text);
    assert.doesNotMatch(shown, /\p{M}{5}/u, name);
    assert.ok((shown.match(/\n/g)?.length ?? 0) <= 2, name);
    assert.doesNotMatch(shown, /(?!\n)[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u, name);
    assert.ok(
      [...new Intl.Segmenter().segment(shown)].every(({ segment }) => [...segment].length <= 12),
      name,
    );
    assert.equal(displayText(shown), shown, `${name}: once is enough`);
    assert.ok(!isBlank(displayName(text)), name);
  }
});

test('a Thai word that no line may end within stays so, and nothing else is joined', () => {
  const word = keepWordsWhole('การเชื่อมต่อ โอเวอร์เลย์');
  assert.match(word, /เชื่อม\u2060ต่อ/);
  assert.equal(displayText(word), word);
  // Cut right after the joiner.
  assert.equal(displayText(word, { length: word.indexOf('\u2060') + 2 }), 'การเชื่อม…');
  for (const text of ['W\u2060W', 'ก่\u2060่', 'ก\u2060', '\u2060ก', 'ก\u2060\u2060ก', 'ก\u2060 ก'])
    assert.doesNotMatch(displayText(text), /\u2060/);
});

test('a text that is too long ends with an ellipsis', () => {
  assert.equal(displayText('สวัสดีครับ', { length: 7 }), 'สวัสดี…');
  assert.equal(displayText('abc', { length: 3 }), 'abc');
  assert.equal(displayText('a👩\u200d👩\u200d👧bcd', { length: 4 }), 'a👩…');
});

test('a blank name gives way to the next, and a sentence keeps its order', () => {
  assert.equal(displayName('\u3164\u2800', 'SOMCHAI'), 'SOMCHAI');
  assert.equal(displayName(null, '\u200b'), '…');
  assert.equal(withinSentence('a\nb\u202ec'), 'a bc');
  assert.equal(withinSentence('שלום'), '\u2068שלום\u2069');
});

test('security 41: the graphemes of usual texts are not looked for, and no text is segmented twice', (t) => {
  const segment = t.mock.method(Intl.Segmenter.prototype, 'segment');
  for (const usual of [
    'ขอบคุณที่สตรีมนะครับ น้ำใจงามมาก ทำดีแล้ว',
    `${'👨‍👩‍👧‍👦'.repeat(36)} ${'👩🏽‍❤️‍💋‍👨🏽'.repeat(5)} ❤️ © 😀😀`,
    'Ελλάδα, Москва, 日本語のテキスト, 한국어 텍스트입니다',
  ])
    assert.equal(displayText(usual), usual);
  assert.equal(segment.mock.callCount(), 0);
  const joined = 'a\u200db'.repeat(20);
  for (let looks = 0; looks < 3; looks += 1) displayText(joined);
  assert.equal(segment.mock.callCount(), 1);
});

test('security 43: whatever is joined, no grapheme of a text for show is long', () => {
  const parts = [
    'ก',
    'ำ',
    '้',
    '่',
    '😀',
    '👩',
    '🏽',
    '❤',
    '\ufe0f',
    '\u200d',
    '\u200c',
    '©',
    '한',
    'ᄀ',
    'ᅡ',
    '日',
    'a',
    '\u0301',
    '🇹',
    '\u{e0067}',
    'क',
    '्',
  ];
  let seed = 1;
  const next = (below: number): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  const segmenter = new Intl.Segmenter();
  for (let texts = 0; texts < 3_000; texts += 1) {
    const few = Array.from({ length: 1 + next(4) }, () => parts[next(parts.length)]);
    const text = Array.from({ length: 60 }, () => few[next(few.length)]).join('');
    const shown = displayText(text);
    for (const { segment } of segmenter.segment(shown))
      assert.ok([...segment].length <= 12, `${JSON.stringify(text)}: ${[...segment].length}`);
  }
});

test('security 41: to see that graphemes are short takes no longer for texts that are made for it', () => {
  for (const unit of ['©', '😀', '👩🏽\u200d', '❤\ufe0f', 'ำ', 'กำ', '한']) {
    const from = process.cpuUsage();
    displayText(`${unit.repeat(600)}\u200d\u0301`.slice(0, 2_000));
    assert.ok(process.cpuUsage(from).user < 200_000, unit);
  }
});

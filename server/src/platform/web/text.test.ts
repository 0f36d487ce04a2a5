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

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nameProblem } from './names.ts';

const good = [
  'Mali มะลิ',
  'สมชาย ใจดี',
  'น้ำใจงาม',
  'ร้านน้ำใจ',
  'Nam Jaidee',
  'Vietnam Jail',
  'José Ñandú',
  'Ελένη',
  'Наталья',
  '日本語',
  '辻\u{e0100}',
  'می‌خواهم',
  'क्‍षमा',
  '👨‍👩‍👧‍👦',
  'Ann 🏳️‍🌈 1️⃣ ❤️ 🏴󠁧󠁢󠁥󠁮󠁧󠁿 👍🏽',
  'Team Rocket',
  'Official Mali',
  'Goal Bot',
  'mali_77',
  "D'Arcy-Smith (live!)",
];
for (const name of good)
  test(`a name can be ${name}`, () => assert.equal(nameProblem(name, 'tips.example'), undefined));

const refused = {
  blank: ['', '   ', '\u3164', '\u2800\u2800', '\u200b', '\u00a0\u3000', '\u0301'],
  invisible: [
    'Ma\u200bli',
    'Ma\u200dli',
    'Ma\u200cli',
    'Mali\ufeff',
    'Mali\u202ekcab',
    'Mali\u200e',
    'M\u2066ali',
    'Ma\u00adli',
    'Mali\u2060',
    'Ma\u034fli',
    'Mali\ufe0f',
    'Mali\u{e0041}',
    'Ma\u3164li',
    'Ma\nli',
    'Ma\u2028li',
    'Mali\ud800',
    'สม\u200bชาย',
    '👍\u200d',
    'Na\u200bmjai',
  ],
  reserved: [
    'Namjai',
    'NAMJAI',
    'namjai',
    'Namjai Support',
    'The Namjai Team',
    'N A M J A I',
    'nam_jai',
    'nam-jai official',
    'namjai_official',
    'mynamjai',
    'Nаmjаi',
    'Nａmｊａｉ',
    'ɴᴀᴍᴊᴀɪ',
    'Ñámjài',
    'n4mja1',
    'Namjal',
    'NamjaI',
    'Narnjai',
    'ηamjai',
    'n@mj@!',
    'น้ำใจ',
    'น้ำใจ ทีมงาน',
    'ทีมงานน้ำใจ'.replace('งานน', 'งาน น'),
    'Admin',
    'ADMINISTRATOR',
    'Official Support',
    'Operator',
    'ผู้ดูแลระบบ',
    'tips.example',
    'Tips.Example',
  ],
} as const;
for (const [problem, names] of Object.entries(refused))
  for (const name of names)
    test(`security 47: ${JSON.stringify(name)} is ${problem}`, () =>
      assert.equal(nameProblem(name, 'tips.example'), problem));

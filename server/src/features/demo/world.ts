/** A month of believable tips, the same in every demo: who, how much, what they wrote, and when. */

export interface DemoTip {
  readonly amount: number;
  readonly name: string;
  readonly displayName: string | null;
  readonly message: string | null;
  /** How long before the start of the demo. */
  readonly agoMs: number;
}

const people: readonly [name: string, displayName: string | null][] = [
  ['NOK', 'น้องนก'],
  ['GAMER_42', null],
  ['SOMCHAI', 'สมชาย'],
  ['FERN', 'เฟิร์น'],
  ['P ANN', 'พี่แอน'],
  ['MEOW', 'แมวส้มจอมซน'],
  ['BOSS', null],
  ['PLOY', 'พลอย'],
  ['JAMES TH', 'James'],
  ['AUNTIE', 'ป้าข้างบ้าน'],
  ['TONKLA', 'ต้นกล้า'],
  ['NIGHT_OWL', 'Night Owl'],
];

const messages = [
  'สู้ ๆ นะคะ',
  'gg',
  'ขำจนน้ำตาไหล 😂',
  null,
  'วาดแมวเพิ่มอีกตัวได้ไหม',
  'For a new microphone!',
  'ฟังเพลิน ทำงานไปด้วย',
  'first time here, love the colours',
  'ขอเพลงเดิมอีกรอบครับ',
  null,
  'สุขสันต์วันเกิดนะ 🎂',
  'พักผ่อนบ้างนะคะ เป็นห่วง',
  'That last boss was insane',
  'เลี้ยงข้าวหนึ่งมื้อ',
  null,
  'มาดูทุกวันเลย',
  'ขอบคุณที่ทำให้วันนี้ยิ้มได้',
];

const amounts = [20, 50, 20, 100, 30, 20, 150, 99, 50, 20, 200, 100, 40, 500, 20, 60, 300, 100, 1000, 35, 50, 250];

const days = 30;
const dayMs = 86_400_000;
const minuteMs = 60_000;

/** Oldest first. Two days of every seven have more, and so have the last eight, as a channel grows. */
export function demoTips(): readonly DemoTip[] {
  const tips: DemoTip[] = [];
  for (let day = days - 1; day >= 0; day--) {
    const count = 1 + ((day * 7) % 3) + (day % 7 < 2 ? 2 : 0) + (day < 8 ? 1 : 0);
    for (let i = 0; i < count; i++) {
      const at = day * 31 + i * 11;
      const [name, displayName] = people[(at * 5) % people.length] ?? ['NOK', null];
      const amount = amounts[(at * 3) % amounts.length] ?? 20;
      const message = messages[(at * 7) % messages.length] ?? null;
      // 29 minutes between the tips of a day; the last one came 9 minutes ago.
      const agoMs = day * dayMs + (count - i) * 29 * minuteMs - 20 * minuteMs;
      tips.push({ amount, name, displayName, message, agoMs });
    }
  }
  return tips;
}

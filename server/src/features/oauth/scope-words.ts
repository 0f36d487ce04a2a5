import { type Html, html } from '../../platform/web/html.ts';
import { type Lang, messages } from '../../platform/web/i18n.ts';
import type { Scope } from './scopes.ts';

/** What each scope means to the creator who grants it. `identity` is what any app may see, without a scope. */
const words = messages({
  en: {
    identity: 'See who you are',
    'identity.more': 'Your username, display name and picture.',
    'profile.read': 'See your public profile',
    'profile.read.more': 'Your bio, links and which tip channels are on. Never an account number.',
    'tips.read': 'See your tips and totals',
    'tips.read.more': 'Every tip you received, with names, amounts and messages.',
    'tips.create': 'Record tips for you',
    'tips.create.more': 'Tips that were paid elsewhere enter your history and appear on your overlay.',
    'alerts.create': 'Send test alerts to your overlay',
    'alerts.create.more': 'They never count as tips.',
    'events.subscribe': 'Hear about tips as they happen',
    'events.subscribe.more': 'Each new tip, and what your overlay shows, is passed on at once.',
  },
  th: {
    identity: 'ดูว่าคุณคือใคร',
    'identity.more': 'ชื่อผู้ใช้ ชื่อที่แสดง และรูปโปรไฟล์ของคุณ',
    'profile.read': 'ดูโปรไฟล์สาธารณะของคุณ',
    'profile.read.more': 'คำแนะนำตัว ลิงก์ และช่องทางรับทิปที่เปิดใช้งาน แต่จะไม่เห็นเลขบัญชี',
    'tips.read': 'ดูทิปและยอดรวมของคุณ',
    'tips.read.more': 'ทิปทุกรายการที่คุณได้รับ พร้อมชื่อ จำนวนเงิน และข้อความ',
    'tips.create': 'บันทึกทิปให้คุณ',
    'tips.create.more': 'ทิปที่จ่ายผ่านระบบอื่นจะเข้ามาอยู่ในประวัติและแสดงบนโอเวอร์เลย์ของคุณ',
    'alerts.create': 'ส่งการแจ้งเตือนทดสอบไปยังโอเวอร์เลย์ของคุณ',
    'alerts.create.more': 'ไม่นับเป็นทิป',
    'events.subscribe': 'รับรู้ทันทีเมื่อมีทิปเข้ามา',
    'events.subscribe.more': 'ทิปใหม่ทุกรายการและสิ่งที่โอเวอร์เลย์แสดงจะถูกส่งต่อให้ทันที',
  },
});

/** What an app may do, in a list; `brief` leaves out what each line means. */
export function scopeList(granted: readonly Scope[], lang: Lang, { brief = false } = {}): Html {
  const t = words(lang);
  const lines = (['identity', ...granted] as const).map(
    (scope) => html`<li><strong>${t(scope)}</strong>!${brief ? '' : html`<p>${t(`${scope}.more`)}</p>`}</li>`,
  );
  return html`<ul class="ticks">!${lines}</ul>`;
}

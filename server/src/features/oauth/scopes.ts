import type { Lang } from '../../platform/web/i18n.ts';

type ConsentWords = Readonly<Record<Lang, readonly [name: string, meaning: string]>>;

interface ScopeRow {
  /** For developers. */
  readonly meaning: string;
  /** For the creator who grants the scope. */
  readonly consent: ConsentWords;
}

/** The spec's scopes, in the order of its table. */
export const scopes = {
  'profile.read': {
    meaning: 'Public profile and tip-channel status',
    consent: {
      en: ['See your public profile', 'Your bio, links and which tip channels are on. Never an account number.'],
      th: ['ดูโปรไฟล์สาธารณะของคุณ', 'คำแนะนำตัว ลิงก์ และช่องทางรับทิปที่เปิดใช้งาน แต่จะไม่เห็นเลขบัญชี'],
    },
  },
  'tips.read': {
    meaning: 'Tip history and statistics',
    consent: {
      en: ['See your tips and totals', 'Every tip you received, with names, amounts and messages.'],
      th: ['ดูทิปและยอดรวมของคุณ', 'ทิปทุกรายการที่คุณได้รับ พร้อมชื่อ จำนวนเงิน และข้อความ'],
    },
  },
  'tips.create': {
    meaning: 'Creating tips through the API',
    consent: {
      en: ['Record tips for you', 'Tips that were paid elsewhere enter your history and appear on your overlay.'],
      th: ['บันทึกทิปให้คุณ', 'ทิปที่จ่ายผ่านระบบอื่นจะเข้ามาอยู่ในประวัติและแสดงบนโอเวอร์เลย์ของคุณ'],
    },
  },
  'alerts.create': {
    meaning: 'Sending test alerts to the overlay',
    consent: {
      en: ['Send test alerts to your overlay', 'They never count as tips.'],
      th: ['ส่งการแจ้งเตือนทดสอบไปยังโอเวอร์เลย์ของคุณ', 'ไม่นับเป็นทิป'],
    },
  },
  'events.subscribe': {
    meaning: 'Receiving tip events through webhooks or sockets',
    consent: {
      en: ['Hear about tips as they happen', 'Each new tip, and what your overlay shows, is passed on at once.'],
      th: ['รับรู้ทันทีเมื่อมีทิปเข้ามา', 'ทิปใหม่ทุกรายการและสิ่งที่โอเวอร์เลย์แสดงจะถูกส่งต่อให้ทันที'],
    },
  },
} as const satisfies Record<string, ScopeRow>;

/** Every app may see this, without a scope. */
export const identity: ConsentWords = {
  en: ['See who you are', 'Your username, display name and picture.'],
  th: ['ดูว่าคุณคือใคร', 'ชื่อผู้ใช้ ชื่อที่แสดง และรูปโปรไฟล์ของคุณ'],
};

export type Scope = keyof typeof scopes;

export const allScopes = Object.keys(scopes) as Scope[];

/** The known scopes of a space-separated list, once each, in the order of the table. */
export function knownScopes(text: string): Scope[] {
  const names = text.split(' ');
  return allScopes.filter((scope) => names.includes(scope));
}

/** As `knownScopes`, with the names that are no scopes, once each. */
export function parseScopes(text: string): { scopes: Scope[]; unknown: string[] } {
  const names = new Set(text.split(' ').filter(Boolean));
  return {
    scopes: knownScopes(text),
    unknown: [...names].filter((name) => !allScopes.some((scope) => scope === name)),
  };
}

export const formatScopes = (list: readonly Scope[]): string => list.join(' ');

export function intersectScopes(a: readonly Scope[], b: readonly Scope[]): Scope[] {
  return a.filter((scope) => b.includes(scope));
}

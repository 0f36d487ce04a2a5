import { type Html, html } from './html.ts';
import type { Lang } from './i18n.ts';

const baht = new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 });

/** Integer satang as `฿1,234.50`, the same in both languages. */
export const money = (satang: number): string => `${satang < 0 ? '-' : ''}฿${baht.format(Math.abs(satang) / 100)}`;

/** The satang of an amount as people type it, such as `฿1,500.50`; `undefined` if it is none. */
export function readMoney(text: string): number | undefined {
  const digits = text
    .trim()
    .replace(/^฿\s*/, '')
    .replace(/,(?=\d{3}(\D|$))/g, '');
  return /^\d{1,9}(\.\d{1,2})?$/.test(digits) ? Math.round(Number(digits) * 100) : undefined;
}

const locales = { en: 'en-GB', th: 'th-TH' } as const;

export interface Times {
  /** `1 Oct 2026, 14:05`; in Thai with the Buddhist year, as people there write it. */
  time(at: Date, lang: Lang): Html;
  /** The same with seconds. */
  exact(at: Date, lang: Lang): Html;
  date(at: Date, lang: Lang): Html;
  /** As plain text, where no markup can stand: `1 Oct 2026`, or without the year. */
  dateText(at: Date, lang: Lang, style?: 'short'): string;
}

/** Times as people of the platform's zone read them; the machine-readable value stays UTC. */
export function createTimes(timeZone: string): Times {
  // Created when first needed: all of them together take as long as opening the database.
  const formats = (style: Intl.DateTimeFormatOptions) => {
    const made: Partial<Record<Lang, Intl.DateTimeFormat>> = {};
    return (lang: Lang): Intl.DateTimeFormat => {
      made[lang] ??= new Intl.DateTimeFormat(locales[lang], { ...style, timeZone });
      return made[lang];
    };
  };
  const day = { day: 'numeric', month: 'short', year: 'numeric' } as const;
  const dates = formats(day);
  const short = formats({ day: 'numeric', month: 'short' });
  const times = formats({ ...day, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  const exact = formats({ ...day, hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
  const full = formats({ dateStyle: 'full', timeStyle: 'long' });
  const element = (at: Date, text: string, lang: Lang) =>
    html`<time datetime="${at.toISOString()}" title="${full(lang).format(at)}">${text}</time>`;
  return {
    time: (at, lang) => element(at, times(lang).format(at), lang),
    exact: (at, lang) => element(at, exact(lang).format(at), lang),
    date: (at, lang) => element(at, dates(lang).format(at), lang),
    // Non-breaking spaces, because `<time>` elements do not wrap either.
    dateText: (at, lang, style) => (style ? short : dates)(lang).format(at).replaceAll(' ', '\u00a0'),
  };
}

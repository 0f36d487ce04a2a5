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
    const made: Partial<Record<Lang, (at: Date) => string>> = {};
    return (at: Date, lang: Lang): string => {
      made[lang] ??= remembering(new Intl.DateTimeFormat(locales[lang], { ...style, timeZone }));
      return made[lang](at);
    };
  };
  const day = { day: 'numeric', month: 'short', year: 'numeric' } as const;
  const dates = formats(day);
  const short = formats({ day: 'numeric', month: 'short' });
  const times = formats({ ...day, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  const exact = formats({ ...day, hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
  const full = formats({ dateStyle: 'full', timeStyle: 'long' });
  const element = (at: Date, text: string, lang: Lang) =>
    html`<time datetime="${at.toISOString()}" title="${full(at, lang)}">${text}</time>`;
  return {
    time: (at, lang) => element(at, times(at, lang), lang),
    exact: (at, lang) => element(at, exact(at, lang), lang),
    date: (at, lang) => element(at, dates(at, lang), lang),
    // Non-breaking spaces, because `<time>` elements do not wrap either.
    dateText: (at, lang, style) => (style ? short : dates)(at, lang).replaceAll(' ', '\u00a0'),
  };
}

/** A translated sentence in which the date is markup. `sentence` is given what stands for it. */
export function dated(sentence: (date: string) => string, date: Html): Html {
  const placeholder = '{date}';
  const [before = '', after = ''] = sentence(placeholder).split(placeholder);
  return html`${before}!${date}${after}`;
}

/** So many texts of each format are remembered: those of the last days and tips stand on every page. */
const maxRemembered = 500;

function remembering(format: Intl.DateTimeFormat): (at: Date) => string {
  const texts = new Map<number, string>();
  return (at) => {
    const known = texts.get(at.getTime());
    if (known !== undefined) return known;
    const text = format.format(at);
    if (texts.size >= maxRemembered) texts.clear();
    texts.set(at.getTime(), text);
    return text;
  };
}

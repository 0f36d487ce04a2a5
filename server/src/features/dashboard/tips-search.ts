import { readMoney } from '../../platform/web/format.ts';
import type { Zone } from '../../platform/zone.ts';
import { parseBound, type TipFilter } from '../tips/index.ts';
import type { DashboardT } from './words.ts';

const names = ['q', 'app', 'from', 'to', 'min', 'max', 'status'] as const;

const statuses = ['recorded', 'voided'] as const;

type Name = (typeof names)[number];
/** The fields as typed. */
export type Typed = Readonly<Record<Name, string>>;
export type Wrong = Partial<Record<Name, string>>;

/** Longer than any name or message. */
const maxLength = 300;

export function readTyped(query: URLSearchParams): Typed {
  const text = (name: Name) => (query.get(name) ?? '').trim().slice(0, maxLength);
  const [q, app, from, to] = [text('q'), text('app'), text('from'), text('to')];
  return { q, app, from, to, min: text('min'), max: text('max'), status: text('status') };
}

/** The search as a query string. */
export function searchQuery(typed: Typed, more: Record<string, string> = {}): string {
  const filled = names.filter((name) => typed[name] !== '').map((name) => [name, typed[name]]);
  return new URLSearchParams([...filled, ...Object.entries(more)]).toString();
}

export interface SearchRules {
  readonly zone: Zone;
  /** The valid values of `app`. */
  readonly sources: readonly string[];
  readonly t: DashboardT;
}

export function parseSearch(typed: Typed, { zone, sources, t }: SearchRules): TipFilter | { wrong: Wrong } {
  const filter = {
    text: typed.q,
    source: typed.app === '' ? null : typed.app,
    from: day(typed.from, 'from', zone),
    to: day(typed.to, 'to', zone),
    minMinor: satang(typed.min),
    maxMinor: satang(typed.max),
    status: typed.status === '' ? null : statuses.find((each) => each === typed.status),
  };
  const wrong: Wrong = {};
  if (filter.source !== null && !sources.includes(filter.source)) wrong.app = t('appError');
  if (filter.status === undefined) wrong.status = t('appError');
  for (const side of ['from', 'to'] as const) if (filter[side] === undefined) wrong[side] = t('dayError');
  if (filter.minMinor === undefined) wrong.min = t('amountError');
  if (filter.maxMinor === undefined) wrong.max = t('amountError');
  const { from, to, minMinor, maxMinor, status } = filter;
  if (from && to && from > to) wrong.to = t('orderError');
  if (minMinor && maxMinor !== null && maxMinor !== undefined && minMinor > maxMinor) wrong.max = t('amountOrderError');
  if (from === undefined || to === undefined || status === undefined) return { wrong };
  if (minMinor === undefined || maxMinor === undefined) return { wrong };
  return Object.keys(wrong).length > 0 ? { wrong } : { ...filter, from, to, minMinor, maxMinor, status };
}

/** `undefined` if the text is not a date of the calendar. */
function day(text: string, side: 'from' | 'to', zone: Zone): number | null | undefined {
  if (text === '') return null;
  return /^\d{4}-\d{2}-\d{2}$/.test(text) ? parseBound(text, side, zone) : undefined;
}

const satang = (text: string): number | null | undefined => (text === '' ? null : readMoney(text));

import type { Zone } from '../../platform/zone.ts';
import type { TipStatus } from '../events/index.ts';

/** Bounds of a listing in milliseconds, both inclusive; `null` is unbounded. */
interface Range {
  readonly from: number | null;
  readonly to: number | null;
}

/** The tips of a listing. */
export interface Selection extends Range {
  /** `null`: recorded and voided. */
  readonly status: TipStatus | null;
}

/** All tips. */
export const allTips: Selection = { from: null, to: null, status: null };

/**
 * Reads `YYYY-MM-DD` (the whole day in the platform's time zone) or RFC 3339 with an offset.
 * Returns the instant, or nothing if there is no such date.
 */
export function parseBound(text: string, side: 'from' | 'to', zone: Zone): number | undefined {
  const day = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text);
  if (day) {
    const [year = 0, month = 0, date = 0] = day.slice(1).map(Number);
    if (!isCalendarDate(year, month, date)) return undefined;
    return side === 'from' ? zone.startOfDay(year, month, date) : zone.startOfDay(year, month, date + 1) - 1;
  }
  return parseInstant(text, side);
}

/** An unencoded `+` of the offset arrives as a space. */
const instantForm =
  /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:[Zz]|([+\- ])(\d{2}):(\d{2}))$/;

function parseInstant(text: string, side: 'from' | 'to'): number | undefined {
  const match = instantForm.exec(text);
  if (!match) return undefined;
  const [year = 0, month = 0, date = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  const fraction = (match[7] ?? '').padEnd(9, '0');
  const offset = (match[8] === '-' ? -1 : 1) * (Number(match[9] ?? 0) * 60 + Number(match[10] ?? 0));
  const valid =
    isCalendarDate(year, month, date) &&
    hour < 24 &&
    minute < 60 &&
    second < 60 &&
    Number(match[9] ?? 0) < 24 &&
    Number(match[10] ?? 0) < 60;
  if (!valid) return undefined;
  // Tips have times in milliseconds: a finer lower bound is rounded up.
  const ms = Number(fraction.slice(0, 3)) + (side === 'from' && Number(fraction.slice(3)) > 0 ? 1 : 0);
  return utc(year, month, date) + ((hour * 60 + minute - offset) * 60 + second) * 1000 + ms;
}

function isCalendarDate(year: number, month: number, day: number): boolean {
  const date = new Date(utc(year, month, day));
  return date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

/** `Date.UTC` maps the years 0 to 99 to 1900 to 1999. */
function utc(year: number, month: number, day: number): number {
  return new Date(0).setUTCFullYear(year, month - 1, day);
}

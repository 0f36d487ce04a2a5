import type { Zone } from '../../platform/zone.ts';
import type { Tip } from '../tips/index.ts';

/** Excel needs it to read the file as UTF-8. */
const byteOrderMark = '\ufeff';

const columns = [
  'created_at',
  'amount',
  'currency',
  'name',
  'display_name',
  'message',
  'app_name',
  'client_id',
  'alert_status',
  'id',
];

export const csvHead = `${byteOrderMark}${columns.join(',')}\r\n`;

/** A record of RFC 4180, in the order of the columns. */
export function csvLine(tip: Tip, zone: Zone): string {
  const cells = [
    zone.local(Date.parse(tip.created_at)),
    (tip.amount_minor / 100).toFixed(2),
    tip.currency,
    text(tip.name),
    text(tip.display_name),
    text(tip.message),
    text(tip.source.app_name),
    tip.source.client_id ?? '',
    tip.alert.status,
    tip.id,
  ];
  return `${cells.join(',')}\r\n`;
}

/**
 * An apostrophe keeps a spreadsheet from running a text as a formula
 * (https://owasp.org/www-community/attacks/CSV_Injection; full-width signs begin a formula too).
 */
function text(value: string | null): string {
  if (!value) return '';
  const safe = /^[=+\-@\t\r\n＝＋－＠]/.test(value) ? `'${value}` : value;
  return /["\r\n,]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

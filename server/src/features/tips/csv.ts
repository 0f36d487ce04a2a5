import { createPauses } from '../../platform/pauses.ts';
import { displayText } from '../../platform/web/browser/text.ts';
import type { Zone } from '../../platform/zone.ts';
import type { Tip } from './schemas.ts';

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
  'source',
  'status',
  'voided_at',
  'void_reason',
];

export const csvHead = `${byteOrderMark}${columns.join(',')}\r\n`;

/** The records of these tips of a creator. Others run meanwhile: a long text of many scripts takes as long as a request. */
export async function csvLines(creatorId: string, tips: readonly Tip[], zone: Zone): Promise<string> {
  const pause = createPauses(creatorId);
  let lines = '';
  for (const tip of tips) {
    await pause();
    lines += csvLine(tip, zone);
  }
  return lines;
}

/** A record of RFC 4180, in the order of the columns. */
function csvLine(tip: Tip, zone: Zone): string {
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
    tip.source.type,
    tip.status,
    tip.voided_at === null ? '' : zone.local(Date.parse(tip.voided_at)),
    text(tip.void_reason),
  ];
  return `${cells.join(',')}\r\n`;
}

/**
 * An apostrophe keeps a spreadsheet from running a text as a formula, whether it splits cells at the comma, the semicolon
 * or the tab. The quotes of the file hold only for a reader that splits at the comma: any other may begin a cell after a
 * semicolon or a line break (`displayText` leaves no tab). So the apostrophe goes before every sign that begins a formula
 * there (https://owasp.org/www-community/attacks/CSV_Injection; full-width signs begin a formula too).
 */
function text(value: string | null): string {
  const safe = displayText(value ?? '').replace(formulaStart, "$1'$2");
  return safe === '' ? '' : `"${safe.replaceAll('"', '""')}"`;
}

const formulaStart = /(^|[;；\n])([\p{White_Space}\p{Default_Ignorable_Code_Point}"]*[=+\-@＝＋－＠﹢﹣﹦﹫−])/gu;

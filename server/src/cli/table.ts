import { cut, plainText, type Terminal } from './terminal.ts';

/** A column is as wide as its widest cell; the last one is cut where the terminal ends. */
export function tableText(head: readonly string[], rows: readonly (readonly string[])[], terminal: Terminal): string {
  const cells = rows.map((row) => row.map(plainText));
  const widths = head.map((title, index) => Math.max(title.length, ...cells.map((row) => (row[index] ?? '').length)));
  const line = (row: readonly string[]): string =>
    cut(
      row
        .map((cell, index) => cell.padEnd(widths[index] ?? 0))
        .join('  ')
        .trimEnd(),
      terminal.columns,
    );
  return [terminal.style('bold', line(head)), ...cells.map(line)].join('\n');
}

/** One field on each line. */
export function fieldsText(fields: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(...fields.map(([name]) => name.length));
  return fields.map(([name, value]) => `${name.padEnd(width)}  ${plainText(value)}`).join('\n');
}

/** `2026-11-15 04:00`, or a dash. */
export const minuteText = (timestamp: string | null): string => timestamp?.slice(0, 16).replace('T', ' ') ?? '-';

/** The same, for text without a heading that names the zone. */
export const utcText = (timestamp: string | null): string =>
  timestamp === null ? '-' : `${minuteText(timestamp)} UTC`;

import { cpus } from 'node:os';
import { type Goal, median, type Row } from './row.ts';

/** What became of a row. */
export interface Line {
  readonly name: string;
  readonly what: string;
  readonly measuredAs: string;
  readonly goal: Goal;
  readonly value: number | null;
  readonly values: readonly number[];
  readonly parts: Readonly<Record<string, string>>;
  readonly verdict: 'holds' | 'misses' | 'reported' | 'skipped' | 'failed' | 'ran';
  readonly note: string | null;
}

export interface Report {
  readonly at: string;
  readonly node: string;
  readonly machine: string;
  readonly rounds: number;
  readonly short: boolean;
  readonly rows: readonly Line[];
}

export function judge({ kind, value: wanted }: Goal, value: number): 'holds' | 'misses' | 'reported' {
  if (kind === 'reported') return 'reported';
  return (kind === 'at least' ? value >= wanted : value <= wanted) ? 'holds' : 'misses';
}

export const line = ({ name, what, measuredAs, goal }: Row, rest: Pick<Line, 'verdict'> & Partial<Line>): Line => ({
  name,
  what,
  measuredAs,
  goal,
  value: rest.values ? median(rest.values) : null,
  values: [],
  parts: {},
  note: null,
  ...rest,
});

export const machine = (): string => `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown processor'}`;

export function format(value: number | null, unit: Goal['unit']): string {
  if (value === null) return '–';
  return `${value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2)}${unit}`;
}

export const goalText = ({ kind, value, unit }: Goal): string =>
  kind === 'reported' ? 'reported' : `${kind === 'at least' ? '≥' : '≤'} ${value}${unit}`;

const marks = { holds: '✓', misses: '✗', reported: '·', skipped: '–', failed: '✗', ran: '·' } as const;

export function table(lines: readonly Line[]): string {
  const cells = lines.map((each) => [
    marks[each.verdict],
    each.name,
    goalText(each.goal),
    format(each.value, each.goal.unit),
    each.verdict,
    each.what,
  ]);
  const header = ['', 'row', 'goal', 'measured', 'verdict', 'what'];
  const widths = header.map((name, i) => Math.max(name.length, ...cells.map((row) => row[i]!.length)));
  const print = (row: readonly string[]) =>
    row
      .map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd(widths[i]!)))
      .join('  ')
      .trimEnd();
  const out = [print(header)];
  for (const [i, each] of lines.entries()) {
    out.push(print(cells[i]!));
    for (const [label, text] of Object.entries(each.parts)) out.push(`     ${label}: ${text}`);
    if (each.note) out.push(`     ${each.note}`);
  }
  return out.join('\n');
}

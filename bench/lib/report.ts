import { cpus } from 'node:os';
import { at } from './at.ts';
import { type Goal, median, type Part, type Row } from './row.ts';

/** What became of a row. */
export interface RowResult extends Pick<Row, 'name' | 'title' | 'what' | 'measuredAs' | 'goal'> {
  readonly value: number | null;
  readonly values: readonly number[];
  readonly parts: readonly Part[];
  readonly verdict: Verdict;
  readonly note: string | null;
  /** How long it took. */
  readonly seconds: number;
}

/** `ran`: the row of a short run, which has no verdict. */
export type Verdict = 'holds' | 'misses' | 'reported' | 'skipped' | 'failed' | 'ran';

export interface Report {
  readonly at: string;
  readonly node: string;
  readonly machine: string;
  readonly rounds: number;
  readonly short: boolean;
  readonly rows: readonly RowResult[];
}

export function judge({ kind, value: wanted }: Goal, value: number): Verdict {
  if (kind === 'reported') return 'reported';
  return (kind === 'at least' ? value >= wanted : value <= wanted) ? 'holds' : 'misses';
}

export const rowResult = (
  { name, title, what, measuredAs, goal }: Row,
  rest: Pick<RowResult, 'verdict'> & Partial<RowResult>,
): RowResult => ({
  name,
  title,
  what,
  measuredAs,
  goal,
  value: rest.values ? median(rest.values) : null,
  values: [],
  parts: [],
  note: null,
  seconds: 0,
  ...rest,
});

const spelled = ['no', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];

/** In neutral words: what matters is how many cores there were. */
export const machine = (cores = cpus().length): string =>
  `${spelled[cores] ?? cores} ${cores === 1 ? 'core' : 'cores'}, ${process.platform} ${process.arch}`;

function number(value: number): string {
  const size = Math.abs(value);
  const digits = size >= 100 ? 0 : size >= 10 ? 1 : 2;
  const text = value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return text.replace('-', '−');
}

export const format = (value: number | null, unit: Goal['unit']): string =>
  value === null ? '–' : `${number(value)}${unit}`;

/** `(0.71–0.80)`: from the smallest to the largest of the rounds. */
export const spread = (values: readonly number[]): string =>
  values.length > 1 ? ` (${number(Math.min(...values))}–${number(Math.max(...values))})` : '';

export const goalText = ({ kind, value, unit }: Goal): string =>
  kind === 'reported' ? 'reported' : `${kind === 'at least' ? '≥' : '≤'} ${value}${unit}`;

/** The parts of a line in words, those of one label together. */
export function partsText(parts: readonly Part[]): { label: string; text: string }[] {
  const byLabel = Map.groupBy(parts, ({ label }) => label);
  return [...byLabel].map(([label, group]) => ({
    label,
    text: group.map(({ unit, values }) => `${number(median(values))} ${unit}${spread(values)}`).join(', '),
  }));
}

const marks: Record<Verdict, string> = {
  holds: '✓',
  misses: '✗',
  reported: '·',
  skipped: '–',
  failed: '✗',
  ran: '·',
};

/** Why the run exits with 1. A row whose requirements are missing is listed in the table and is no failure. */
export const failures = (results: readonly RowResult[]): string[] =>
  results
    .filter(({ verdict }) => verdict === 'misses' || verdict === 'failed')
    .map(({ name, verdict }) => `${name} ${verdict}`);

export function table(results: readonly RowResult[]): string {
  const header = ['', 'row', 'goal', 'measured', 'spread', 'verdict', 'what'];
  const cells = results.map((each) => [
    marks[each.verdict],
    each.name,
    goalText(each.goal),
    format(each.value, each.goal.unit),
    spread(each.values).trim(),
    each.verdict,
    each.what,
  ]);
  const widths = header.map((name, i) => Math.max(name.length, ...cells.map((row) => at(row, i).length)));
  const print = (row: readonly string[]) =>
    row
      .map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd(at(widths, i))))
      .join('  ')
      .trimEnd();
  const out = [print(header)];
  for (const [i, each] of results.entries()) {
    out.push(print(at(cells, i)));
    for (const { label, text } of partsText(each.parts)) out.push(`     ${label}: ${text}`);
    if (each.note) out.push(`     ${each.note}`);
  }
  return out.join('\n');
}

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { chart } from './chart.ts';
import { format, goalText, partsText, type Report, type RowResult, spread } from './report.ts';

const folder = new URL('../../docs/', import.meta.url);
export const docsFiles = {
  /** In English and in Thai; what was measured is the same in both. */
  pages: [new URL('performance.md', folder), new URL('performance.th.md', folder)],
  picture: new URL('performance.svg', folder),
  /** The report that the others are made from. */
  report: new URL('performance.json', folder),
};
const [begin, end] = ['<!-- measured -->', '<!-- end -->'];

/**
 * Writes the report, and updates the guide, in both languages, and its chart. Rows that this run left out stay as they
 * were: each row was measured beside its reference, whenever that was.
 */
export function writeDocs(measured: Report, order: readonly { readonly name: string }[]): void {
  const kept: Report | undefined = existsSync(docsFiles.report)
    ? JSON.parse(readFileSync(docsFiles.report, 'utf8'))
    : undefined;
  const find = (name: string, { rows }: Report): RowResult | undefined => rows.find((row) => row.name === name);
  const rows = order.flatMap(({ name }) => find(name, measured) ?? (kept && find(name, kept)) ?? []);
  const report = { ...measured, rows };
  writeFileSync(docsFiles.report, `${JSON.stringify(report, null, 2)}\n`);
  for (const page of docsFiles.pages) writeFileSync(page, withMeasured(readFileSync(page, 'utf8'), report));
  writeFileSync(docsFiles.picture, chart(report));
}

/** The guide with what was measured between its marks. */
export function withMeasured(page: string, report: Report): string {
  const [before, rest] = page.split(begin);
  const after = rest?.slice(rest.indexOf(end));
  if (before === undefined || !after?.startsWith(end)) throw new Error(`The guide lacks ${begin} … ${end}`);
  return `${before}${begin}\n\n${markdown(report)}\n\n${after}`;
}

function markdown({ rows, machine, node, rounds, at }: Report): string {
  const held = rows.filter(({ verdict }) => verdict === 'holds').length;
  const judged = rows.filter(({ verdict }) => verdict === 'holds' || verdict === 'misses').length;
  const parts = rows
    .filter((row) => row.parts.length > 0)
    .map(({ name, parts: some }) => {
      const words = partsText(some).map(({ label, text }) => `${label} ${text}`);
      return `- \`${name}\`: ${words.join('; ')}`;
    });
  return [
    `${held} of ${judged} goals hold. Measured on ${at.slice(0, 10)}: ${machine}, Node ${node}, median of ${rounds} rounds`,
    '(in brackets the smallest and the largest).',
    '',
    '![Each row’s measured value against its goal](performance.svg)',
    '',
    '| what | measured as | measured | goal |',
    '| --- | --- | --- | --- |',
    ...rows.map(tableRow),
    '',
    'What the ratios are made of:',
    '',
    ...parts,
  ].join('\n');
}

function tableRow({ name, what, measuredAs, goal, value, values, verdict, note }: RowResult): string {
  const judged = goal.kind === 'reported' ? verdict : `${goalText(goal)}: **${verdict}**`;
  const words = note ? `${judged}, ${note.split('\n')[0]}` : judged;
  return `| \`${name}\` ${what} | ${measuredAs} | ${format(value, goal.unit)}${spread(values)} | ${words} |`;
}

import { readFileSync, writeFileSync } from 'node:fs';
import { chart } from './chart.ts';
import { format, goalText, type Line, type Report } from './report.ts';

const page = new URL('../../docs/performance.md', import.meta.url);
const picture = new URL('../../docs/performance.svg', import.meta.url);
const [begin, end] = ['<!-- measured: begin -->', '<!-- measured: end -->'];

/** Puts the table between its marks in docs/performance.md, and the picture beside it. */
export function writeDocs(report: Report): void {
  const text = readFileSync(page, 'utf8');
  const [before, rest] = text.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`docs/performance.md lacks ${begin} … ${end}`);
  writeFileSync(page, `${before}${begin}\n${markdown(report)}\n${end}${after}`);
  writeFileSync(picture, chart(report));
}

function markdown({ rows, machine, node, rounds, at }: Report): string {
  const cells = rows.map(
    (line) =>
      `| ${line.what} | ${line.measuredAs} | ${goalText(line.goal)} | ${format(line.value, line.goal.unit)}${spread(line)} | ${line.note ? `${line.verdict}: ${line.note.split('\n')[0]}` : line.verdict} |`,
  );
  const parts = rows
    .filter((line) => Object.keys(line.parts).length > 0)
    .map(
      (line) =>
        `- **${line.name}**: ${Object.entries(line.parts)
          .map(([label, text]) => `${label} ${text}`)
          .join('; ')}`,
    );
  return [
    `Measured on ${at.slice(0, 10)}: ${machine}, Node ${node}, median of ${rounds} rounds (smallest to largest in brackets).`,
    '',
    '| what | measured as | goal | measured | verdict |',
    '| --- | --- | --- | --- | --- |',
    ...cells,
    '',
    ...parts,
  ].join('\n');
}

const spread = ({ values, goal }: Line): string =>
  values.length > 1 ? ` (${format(Math.min(...values), '')} to ${format(Math.max(...values), goal.unit)})` : '';

/**
 * The benchmark: `npm run bench`, `npm run bench -- --only me,tips`, `-- --rounds 1 --short` to test it itself,
 * `-- --profile` for a CPU profile of both sides beside the results, `-- --write-docs` to bring docs/performance.md up to date. Exits 1 where a row misses its goal.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createBench } from './lib/bench.ts';
import { chart } from './lib/chart.ts';
import { writeDocs } from './lib/docs.ts';
import { missing } from './lib/needs.ts';
import { createProgress } from './lib/progress.ts';
import { judge, type Line, line, machine, type Report, table } from './lib/report.ts';
import { median, type Row } from './lib/row.ts';
import { rows } from './rows/index.ts';

const { values: options } = parseArgs({
  options: {
    only: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    profile: { type: 'boolean', default: false },
    short: { type: 'boolean', default: false },
    'write-docs': { type: 'boolean', default: false },
  },
});
const rounds = Number(options.rounds);
const wanted = options.only?.split(',');
const unknown = wanted?.filter((name) => !rows.some((row) => row.name === name)) ?? [];
if (unknown.length > 0 || !(rounds >= 1)) {
  console.error(`Rows: ${rows.map(({ name }) => name).join(', ')}. --rounds takes a whole number from 1.`);
  process.exit(2);
}

const results = new URL('./results/', import.meta.url);
mkdirSync(results, { recursive: true });
const progress = createProgress();

async function runRow(row: Row, place: string): Promise<Line> {
  const absent = await missing(row.needs ?? []);
  if (absent) return line(row, { verdict: 'skipped', note: `needs ${absent}` });
  const bench = createBench({
    rounds,
    short: options.short,
    profiles: options.profile ? fileURLToPath(new URL(row.name, results)) : undefined,
    progress: (text) => progress.show(`${place} ${row.name}: ${text}`),
  });
  try {
    const measured = await row.measure(bench);
    return line(row, { ...measured, verdict: options.short ? 'ran' : judge(row.goal, median(measured.values)) });
  } catch (error) {
    return line(row, {
      verdict: 'failed',
      note: error instanceof Error ? (error.stack ?? error.message) : String(error),
    });
  } finally {
    await bench.end();
  }
}

const chosen = rows.filter(({ name }) => !wanted || wanted.includes(name));
const lines: Line[] = [];
for (const [i, row] of chosen.entries()) lines.push(await runRow(row, `[${i + 1}/${chosen.length}]`));
progress.done();

const report: Report = {
  at: new Date().toISOString(),
  node: process.version,
  machine: machine(),
  rounds,
  short: options.short,
  rows: lines,
};
writeFileSync(new URL('report.json', results), `${JSON.stringify(report, null, 2)}\n`);
writeFileSync(new URL('report.svg', results), chart(report));
if (options['write-docs']) writeDocs(report);

console.log(table(lines));
if (options.short) console.log('\nA short run: it tests the benchmark, the figures mean nothing.');
process.exitCode = lines.some(({ verdict }) => verdict === 'misses' || verdict === 'failed') ? 1 : 0;

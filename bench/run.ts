/**
 * The benchmark. `npm run bench` runs every row and exits 1 where one misses its goal.
 *
 *   -- --only me,tips    these rows alone
 *   -- --rounds 3        instead of five
 *   -- --profile         also a CPU profile of both sides, beside the results
 *   -- --write-docs      brings these rows of docs/performance.md up to date
 *   -- --short           everything as small as it can be: tests a row itself, gives no verdict
 *   -- --smoke           one short round of the cheap rows; fails only where one cannot run
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createProgress, durationText } from '../server/src/cli/progress.ts';
import { type Bench, createBench } from './lib/bench.ts';
import { chart } from './lib/chart.ts';
import { noteOf } from './lib/compare.ts';
import { writeDocs } from './lib/docs.ts';
import { missing } from './lib/needs.ts';
import { failures, judge, machine, type Report, type RowResult, rowResult, table } from './lib/report.ts';
import { median, type Row } from './lib/row.ts';
import { smokeProblems } from './lib/smoke.ts';
import { rows } from './rows/index.ts';

const { values: options } = parseArgs({
  options: {
    only: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    profile: { type: 'boolean', default: false },
    'write-docs': { type: 'boolean', default: false },
    short: { type: 'boolean', default: false },
    smoke: { type: 'boolean', default: false },
  },
});
const short = options.short || options.smoke;
const rounds = options.smoke ? 1 : Number(options.rounds);
const wanted = options.only?.split(',');

function refuse(words: string): never {
  console.error(words);
  process.exit(2);
}
const unknown = wanted?.filter((name) => !rows.some((row) => row.name === name)) ?? [];
if (unknown.length > 0) refuse(`No row ${unknown.join(', ')}. Rows: ${rows.map(({ name }) => name).join(', ')}.`);
if (!Number.isInteger(rounds) || rounds < 1) refuse('--rounds takes a whole number from 1.');
if (options['write-docs'] && short) refuse('--write-docs takes figures that mean something: no short run.');

const results = new URL('./results/', import.meta.url);
const files = { json: new URL('report.json', results), svg: new URL('report.svg', results) };
mkdirSync(results, { recursive: true });
const progress = createProgress(process.stderr);
let running: Bench | undefined;

async function runRow(row: Row, position: string): Promise<RowResult> {
  const absent = missing(row.needs ?? []);
  if (absent) return rowResult(row, { verdict: 'skipped', note: `needs ${absent}` });
  const begun = performance.now();
  const seconds = (): number => Math.round((performance.now() - begun) / 100) / 10;
  const bench = createBench({
    rounds,
    short,
    profiles: options.profile ? fileURLToPath(new URL(row.name, results)) : undefined,
    progress: (text) => progress.show(`${position} ${row.name}: ${text}`),
  });
  running = bench;
  try {
    const measured = await row.measure(bench);
    const verdict = short ? 'ran' : judge(row.goal, median(measured.values));
    return rowResult(row, { ...measured, verdict, note: noteOf(measured), seconds: seconds() });
  } catch (error) {
    const note = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return rowResult(row, { verdict: 'failed', note, seconds: seconds() });
  } finally {
    await bench.end();
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, async () => {
    progress.clear();
    console.error('Broken off: no results were written.');
    await running?.end();
    process.exit(130);
  });

const chosen = rows.filter(({ name, cheap }) => (wanted ? wanted.includes(name) : !options.smoke || cheap));
const estimate = (some: readonly Row[]): string =>
  durationText(some.reduce((sum, { lasts }) => sum + (short ? 5 : lasts.setup + rounds * lasts.round), 0));
console.error(`Rows: ${chosen.length}, rounds of each: ${rounds}. On two cores this takes about ${estimate(chosen)}.`);
const finished: RowResult[] = [];
for (const [i, row] of chosen.entries())
  finished.push(await runRow(row, `[${i + 1}/${chosen.length}, ${estimate(chosen.slice(i))} left]`));
progress.clear();

const report: Report = {
  at: new Date().toISOString(),
  node: process.version,
  machine: machine(),
  rounds,
  short,
  rows: finished,
};
writeFileSync(files.json, `${JSON.stringify(report, null, 2)}\n`);
writeFileSync(files.svg, chart(report));
if (options['write-docs']) writeDocs(report, rows);

console.log(table(finished));
console.log(
  `\nIn ${fileURLToPath(results)}: report.json, report.svg, and the stores that are kept (delete them at will).`,
);
if (short) console.log('A short run: it tests the benchmark, the figures mean nothing.');
const bad = options.smoke ? smokeProblems(files) : failures(finished);
if (bad.length > 0) console.error(`\n${bad.join('\n')}`);
process.exitCode = bad.length > 0 ? 1 : 0;

/**
 * Runs the tests: `node scripts/test.ts embedded|nodes [file…]`.
 *
 * `embedded` is the shape with SQLite, and runs everything. `nodes` runs the features' tests on the program's other
 * shape: each test has a database of its own in one PostgreSQL, each process a Redis of its own. Files that mostly wait
 * come first and four run at once, so that two cores stay busy to the end. A file is a process, or shares one with others
 * (test-groups.ts); a cache of compiled modules halves the time of its start.
 */
import { globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { getPriority, setPriority } from 'node:os';
import { dirname, join } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { makeMigrated } from '../server/test/migrated.ts';
import { startPostgres } from '../server/test/postgres.ts';
import { skipWithoutRedis } from '../server/test/redis.ts';
import { recordingOf } from './statements.ts';
import { groupFiles } from './test-groups.ts';

type Shape = 'embedded' | 'nodes';

const everything = {
  embedded: ['server/**/*.test.ts', 'sdk/**/*.test.ts', 'bench/*.test.ts', 'bench/lib/*.test.ts'],
  nodes: [
    'server/src/features/**/*.test.ts',
    'server/test/flows/partitions.test.ts',
    'server/test/flows/growth.test.ts',
  ],
};
/** Measures times, so it raises its priority. Where the user may not do that, it runs after all other files. */
const measuring = 'server/test/faults/victims.test.ts';
/** Slow test files, slowest first. */
const first = ['faults/nodes', 'faults/', 'proof/', 'flows/', 'browser/']
  .map((part) => `server/test/${part}`)
  .concat('sdk/test/');

/** A test that takes longer is taken to hang: it fails, by name. The longest takes two minutes, more on a busy machine. */
const longestTestMs = 20 * 60_000;

const [shape, ...given] = process.argv.slice(2);
if (shape !== 'embedded' && shape !== 'nodes') throw new Error('say which shape: embedded or nodes');
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, '../node_modules/.cache/namjai-tests');

const rank = (file: string): number => {
  const index = first.findIndex((prefix) => file.startsWith(prefix));
  return index < 0 ? first.length : index;
};
const files = globSync(given.length > 0 ? given : everything[shape], { exclude: ['**/node_modules/**'] })
  .map((file) => file.replaceAll('\\', '/'))
  .sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
if (files.length === 0) throw new Error(`no file matches ${given.join(' ')}`);

if (given.length === 0) rmSync(recordingOf(shape), { force: true });
const endings: (() => Promise<void> | void)[] = [];
if (shape === 'embedded') await runFiles(shape);
else if (skipWithoutRedis) console.log(`ℹ tests on PostgreSQL and Redis skipped: ${skipWithoutRedis}`);
else {
  const outside = process.env.DATABASE_URL;
  const postgres = outside?.startsWith('postgres') ? undefined : await startPostgres();
  process.env.TEST_SHAPE = 'nodes';
  if (postgres) process.env.DATABASE_URL = postgres.url('postgres');
  await runFiles(shape);
  await postgres?.end();
}

/** A run of all files also records the SQL that they run (statements.ts). */
function recordStatements(shape: Shape): void {
  const recorder = new URL('../server/test/record-statements.ts', import.meta.url);
  recorder.searchParams.set('to', recordingOf(shape));
  mkdirSync(dirname(recordingOf(shape)), { recursive: true });
  writeFileSync(recordingOf(shape), '');
  process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --import=${recorder.href}`;
}

async function runFiles(shape: Shape): Promise<void> {
  process.env.TEST_MIGRATED = await makeMigrated({ after: (end) => endings.push(end) }, shape === 'nodes');
  if (given.length === 0) recordStatements(shape);
  const waits = (file: string): boolean => file === measuring && !mayRaisePriority();
  const now = files.filter((file) => !waits(file));
  await runTogether(groupFiles(now, endings));
  await runTogether(files.filter(waits));
  for (const end of endings) await end();
}

function mayRaisePriority(): boolean {
  const own = getPriority();
  try {
    setPriority(own - 1);
    setPriority(own);
    return true;
  } catch {
    return false;
  }
}

async function runTogether(files: string[]): Promise<void> {
  if (files.length === 0) return;
  const events = run({ files, concurrency: 4, execArgv: [`--test-timeout=${longestTestMs}`] });
  events.on('test:fail', ({ todo }) => {
    if (todo === undefined || todo === false) process.exitCode = 1;
  });
  const report = events.compose(spec);
  report.pipe(process.stdout);
  await new Promise((resolve) => report.once('end', resolve));
}

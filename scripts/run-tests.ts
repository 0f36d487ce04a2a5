/** One run of tests as a process of its own, with its output in a file. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface TestRun {
  readonly passed: boolean;
  readonly seconds: number;
  readonly seed: number;
  readonly log: string;
  /** The files with failed tests, or how to find them. */
  readonly failedIn: string;
  /** What the tests say of themselves, such as figures. */
  readonly diagnostics: readonly string[];
}

/** A line of a test's own, and none of the sums at the end. */
const diagnosticLine = /^ *ℹ (?!(?:tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$)(.+)$/gm;

const script = join(import.meta.dirname, 'test.ts');
const children = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of children) child.kill('SIGTERM');
});

/** `args` are those of `scripts/test.ts`. */
export async function runTests(
  args: readonly string[],
  logDirectory: string,
  env: Readonly<Record<string, string>> = {},
): Promise<TestRun> {
  const seed = Math.floor(Math.random() * 1_000_000);
  const log = join(logDirectory, `${args[0]}-${seed}.log`);
  const started = performance.now();
  const child = spawn(process.execPath, [script, ...args], {
    env: { ...process.env, TEST_SEED: String(seed), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.add(child);
  const file = createWriteStream(log);
  for (const stream of [child.stdout, child.stderr]) stream.pipe(file, { end: false });
  const [code] = await once(child, 'close');
  children.delete(child);
  await new Promise<void>((resolve) => file.end(resolve));
  const text = readFileSync(log, 'utf8');
  const failed = [...text.matchAll(/^test at (.+):\d+:\d+$/gm)].map(([, where]) => where);
  return {
    passed: code === 0,
    seconds: Math.round((performance.now() - started) / 1000),
    seed,
    log,
    failedIn: [...new Set(failed)].join(', ') || 'see the log',
    diagnostics: [...text.matchAll(diagnosticLine)].flatMap(([, line]) => line ?? []),
  };
}

/**
 * Runs the suite again and again to find tests that fail now and then: 20 times the quick part, 5 times the rest. It
 * stops at the first failure and says which files failed, with which seed, and where the log lies.
 *
 *   npm run soak -- [--busy 8] [--quick 20] [--rest 5] [file…]
 *
 * `--busy` keeps the cores busy with that many processes. With files it runs only these, as often as the quick part.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runTests } from './run-tests.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    busy: { type: 'string', default: '0' },
    quick: { type: 'string', default: '20' },
    rest: { type: 'string', default: '5' },
  },
});

const quick = ['server/src/**/*.test.ts', 'sdk/**/*.test.ts', 'bench/*.test.ts', 'bench/lib/*.test.ts'];
const parts =
  positionals.length > 0
    ? [{ times: Number(values.quick), args: ['embedded', ...positionals] }]
    : [
        { times: Number(values.quick), args: ['embedded', ...quick] },
        { times: Number(values.rest), args: ['embedded', 'server/test/**/*.test.ts'] },
        { times: Number(values.rest), args: ['nodes'] },
      ];

const logs = mkdtempSync(join(tmpdir(), 'namjai-soak-'));
const children = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of children) child.kill('SIGTERM');
});
process.on('SIGINT', () => process.exit(130));
process.on('SIGTERM', () => process.exit(143));

for (let i = 0; i < Number(values.busy); i += 1) children.add(spawn(process.execPath, ['-e', 'for (;;);']));
for (const { times, args } of parts)
  for (let round = 1; round <= times; round += 1) if (!(await passes(args, `${round} of ${times}`))) process.exit(1);
process.exit();

async function passes(args: string[], round: string): Promise<boolean> {
  const { passed, seconds, seed, log, failedIn } = await runTests(args, logs);
  console.log(`${passed ? '✔' : '✖'} ${args.join(' ')}: ${round}, ${seconds} s, TEST_SEED=${seed}`);
  if (!passed) console.log(`failed in: ${failedIn}\nlog: ${log}`);
  return passed;
}

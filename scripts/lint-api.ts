/**
 * Lints openapi.json by the recommended rules of Redocly and of Spectral; a warning fails too. Both are in
 * scripts/lint-api, with a lock file of their own: 80 MB that nobody needs to run or to test the server. Their install
 * scripts, which report to their makers, do not run, and telemetry is off.
 */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const folder = at('./lint-api');
const document = at('../openapi.json');
const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };

const run = (program: string, ...args: string[]) =>
  execFileSync(program, args, { cwd: folder, env, stdio: 'inherit', shell: process.platform === 'win32' });

run('npm', 'ci', '--ignore-scripts', '--no-fund', '--no-audit');
run('npx', 'redocly', 'lint', '--extends=recommended-strict', document);
run('npx', 'spectral', 'lint', '--ruleset=spectral.json', '--fail-severity=hint', document);

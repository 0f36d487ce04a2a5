import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../server/test/server-process.ts';
import type { Bench } from '../lib/bench.ts';
import { hasEnded } from '../lib/child.ts';
import { type Row, reported } from '../lib/row.ts';

const repository = fileURLToPath(new URL('../../', import.meta.url));
/** Everything is downloaded anew each time. */
const mostRounds = 3;

export const install: Row = {
  name: 'install',
  title: 'npm ci && npm start → first answer',
  what: '`npm ci && npm start` on an empty machine: a new clone, nothing in npm’s cache, no data',
  measuredAs: 'start of npm ci → first answered request',
  goal: { ...reported, unit: ' s' },
  lasts: { setup: 20, round: 25 },
  async measure(bench) {
    const [values, starts, bytes]: [number[], number[], number[]] = [[], [], []];
    for (let round = 0; round < Math.min(bench.rounds, mostRounds); round++) {
      bench.progress(`round ${round + 1}: installing`);
      const home = join(bench.directory, `clone-${round}`);
      await finish(bench, 'git', ['clone', '--quiet', '--depth', '1', `file://${repository}`, home], bench.directory);
      const begun = performance.now();
      await finish(bench, 'npm', ['ci', '--no-audit', '--no-fund', '--cache', join(home, '.npm-cache')], home);
      const installed = performance.now();
      await untilAnswered(bench, home);
      values.push((performance.now() - begun) / 1000);
      starts.push((performance.now() - installed) / 1000);
      bytes.push(bytesIn(join(home, 'node_modules')) / 1e6);
    }
    return {
      values,
      parts: [
        { label: 'npm start alone', unit: 's', values: starts },
        { label: 'installed', unit: 'MB', values: bytes },
      ],
    };
  },
};

function run(bench: Bench, command: string, args: readonly string[], cwd: string, env: Record<string, string> = {}) {
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
    // A group of its own: npm starts the server as a child of a shell.
    detached: true,
  });
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  bench.after(() => end(child));
  const failed = () => new Error(`${command} ${args.join(' ')} ended with ${child.exitCode}: ${errors.slice(-2000)}`);
  return { child, failed };
}

async function finish(bench: Bench, command: string, args: readonly string[], cwd: string): Promise<void> {
  const { child, failed } = run(bench, command, args, cwd);
  await once(child, 'close');
  if (child.exitCode !== 0) throw failed();
}

async function untilAnswered(bench: Bench, home: string): Promise<void> {
  const port = await freePort();
  const { child, failed } = run(bench, 'npm', ['start'], home, { PORT: String(port) });
  while (!(await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined))?.ok) {
    if (hasEnded(child)) throw failed();
    await delay(5);
  }
  await end(child);
}

async function end(child: ChildProcess): Promise<void> {
  if (hasEnded(child) || child.pid === undefined) return;
  const gone = once(child, 'exit');
  process.kill(-child.pid, 'SIGKILL');
  await gone;
}

/** Of all files; a link counts as itself. */
function bytesIn(folder: string): number {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => lstatSync(join(folder, name)))
    .reduce((sum, stat) => sum + (stat.isFile() ? stat.size : 0), 0);
}

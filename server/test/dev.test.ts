import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { keepRunning, settleMs } from '../../scripts/dev.ts';
import { until } from '../../sdk/test/until.ts';
import { temporaryDirectory } from './temporary-directory.ts';

test('npm run dev starts the program again on every kind of change, and ends it at the end', async (t) => {
  const directory = temporaryDirectory(t);
  const source = join(directory, 'src');
  const [main, log] = [join(source, 'main.mjs'), join(directory, 'starts.log')];
  const program = (name: string, rest = 'setInterval(() => {}, 1000);') =>
    `import { appendFileSync } from 'node:fs';\nappendFileSync(${JSON.stringify(log)}, '${name} ' + process.pid + '\\n');\n${rest}\n`;
  const starts = () =>
    readFileSync(log, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => line.split(' '));
  mkdirSync(source);
  writeFileSync(log, '');
  writeFileSync(main, program('first'));
  const [end, kill] = [new AbortController(), new AbortController()];
  const running = keepRunning({ folders: [source], args: [main] }, end.signal, kill.signal);
  t.after(async () => {
    end.abort();
    kill.abort();
    await running;
  });
  const started = (name: string) => until(`${name} has started`, () => starts().at(-1)?.[0] === name);

  await started('first');
  for (const name of ['replaced', 'replaced-again']) {
    writeFileSync(join(directory, 'next'), program(name));
    renameSync(join(directory, 'next'), main);
    await started(name);
  }
  writeFileSync(main, program('in-place'));
  await started('in-place');
  writeFileSync(main, program('broken', 'throw new Error();'));
  await started('broken');
  writeFileSync(main, program('mended'));
  await started('mended');

  const part = join(source, 'new', 'part');
  for (const again of [1, 2]) {
    const count = starts().length;
    mkdirSync(part, { recursive: true });
    await until('a new folder is noticed', () => starts().length > count);
    const before = starts().length;
    appendFileSync(join(part, 'file.mjs'), `// ${again}\n`);
    await until('a file of a new folder is noticed', () => starts().length > before);
    const present = starts().length;
    rmSync(join(source, 'new'), { recursive: true });
    await until('its removal is noticed', () => starts().length > present);
  }

  const beforeLink = starts().length;
  symlinkSync('loop', join(source, 'loop'));
  await until('a link to itself is noticed', () => starts().length > beforeLink);

  const count = starts().length;
  writeFileSync(join(source, 'main.test.ts'), '');
  // If it were, a busy machine might show it later: the test would then pass, not fail.
  await delay(5 * settleMs);
  assert.equal(starts().length, count, 'a test is no part of the program');

  for (let i = 0; i < 200; i++) {
    mkdirSync(join(source, `short-lived-${i}`));
    rmSync(join(source, `short-lived-${i}`), { recursive: true });
  }
  writeFileSync(main, program('deaf', `process.on('SIGINT', () => {}); setInterval(() => {}, 1000);`));
  await started('deaf');
  end.abort();
  kill.abort();
  await running;
  assert.throws(() => process.kill(Number(starts().at(-1)?.[1]), 0), { code: 'ESRCH' });
});

/** `npm run dev` with a server that logs when it starts and has drained, and dies of `SIGUSR2` by an error. */
async function startDev(t: TestContext) {
  const directory = temporaryDirectory(t);
  for (const folder of ['server/src', 'server/bin', 'sdk/src', 'docs'])
    mkdirSync(join(directory, folder), { recursive: true });
  const log = join(directory, 'server.log');
  writeFileSync(log, '');
  writeFileSync(
    join(directory, 'server/bin/namjai.js'),
    `const { appendFileSync } = require('node:fs');
    const note = (text) => appendFileSync(${JSON.stringify(log)}, text + ' ' + process.pid + '\\n');
    process.on('SIGINT', () => {
      note('drained');
      process.exit();
    });
    note('started');
    setInterval(() => {}, 1000);`,
  );
  const fails = 'data:text/javascript,process.on("SIGUSR2",()=>{throw new Error("as of a mistake")})';
  const args = ['--disable-warning=ExperimentalWarning', '--import', fails];
  const dev = spawn(process.execPath, [...args, fileURLToPath(new URL('../../scripts/dev.ts', import.meta.url))], {
    cwd: directory,
    stdio: 'ignore',
  });
  const logWords = () => readFileSync(log, 'utf8').split(/\s+/).filter(Boolean);
  t.after(() => {
    dev.kill('SIGKILL');
    try {
      process.kill(Number(logWords()[1]), 'SIGKILL');
    } catch {
      // It has ended, as it should.
    }
  });
  await until('the server has started', () => logWords().length === 2);
  return { dev, logWords };
}

const endings: readonly (readonly [string, readonly NodeJS.Signals[]])[] = [
  ['a signal that comes twice, as Ctrl-C does where the shell of npm is bash', ['SIGINT', 'SIGTERM']],
  ['SIGQUIT', ['SIGQUIT']],
  ['an error of its own', ['SIGUSR2']],
];
for (const [what, signals] of endings)
  test(`npm run dev lets the server drain after ${what}`, async (t) => {
    const { dev, logWords } = await startDev(t);
    const ended = once(dev, 'exit');
    for (const signal of signals) dev.kill(signal);
    await ended;
    await until('the server has ended', () => logWords()[2] === 'drained');
    assert.equal(logWords().length, 4);
  });

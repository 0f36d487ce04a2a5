import assert from 'node:assert/strict';
import { appendFileSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
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

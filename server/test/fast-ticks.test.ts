import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';

const fastTicks = new URL('../bin/fast-ticks.js', import.meta.url).href;

/** Makes ticks, collects garbage while none exists, and prints the time of one after that, in microseconds. */
const program = `
  const { setFlagsFromString } = await import('node:v8');
  const { runInNewContext } = await import('node:vm');
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc');
  const makeTicks = () => new Promise((resolve) => {
    const begun = performance.now();
    for (let i = 0; i < 1000; i++) process.nextTick(() => {}, i);
    const took = performance.now() - begun;
    setImmediate(resolve, took);
  });
  await makeTicks();
  for (let i = 0; i < 10; i++) {
    await new Promise(setImmediate);
    collect();
  }
  let best = Infinity;
  for (let i = 0; i < 300; i++) best = Math.min(best, await makeTicks());
  console.log(best);
`;

const bestOf = (...options: string[]): number =>
  Number(execFileSync(process.execPath, [...options, '--input-type=module', '--eval', program], { encoding: 'utf8' }));

test('ticks stay fast after garbage collections; without fast-ticks.js they do not', () => {
  const [fast, slow] = [bestOf('--import', fastTicks), bestOf()];
  // If this fails because both are fast, Node.js no longer needs the file.
  assert.ok(fast < slow / 2, `a tick takes ${fast} µs with it and ${slow} µs without it`);
});

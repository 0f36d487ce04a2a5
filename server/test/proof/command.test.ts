import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { proofs } from '../../../scripts/proofs.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));

function proof(...args: string[]): Promise<{ code: unknown; stdout: string; stderr: string }> {
  // A run of tests inside of a test is skipped, unless it does not know.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  return new Promise((resolve) =>
    execFile(process.execPath, ['scripts/proof.ts', ...args], { cwd: root, env }, (error, stdout, stderr) =>
      resolve({ code: error ? error.code : 0, stdout, stderr }),
    ),
  );
}

test('without a name it lists the proofs and how long each takes', async () => {
  const { code, stdout } = await proof();
  assert.equal(code, 0);
  for (const { name, shows } of proofs)
    assert.match(stdout, new RegExp(`^ +${name} +\\d.* (min|s) .*${shows.slice(0, 20)}`, 'm'));
});

test('wrong usage exits 2 and says what would be right', async () => {
  const cases: [string[], RegExp][] = [
    [['mixd'], /There is no proof "mixd"/],
    [['mixed', 'crash'], /One proof at a time/],
    [['mixed', '--rounds', '3'], /mixed takes --minutes, not --rounds/],
    [['crash', '--minutes', '3'], /crash takes --rounds/],
    [['crash', '--rounds', '1.5'], /--rounds takes a whole number above 0, not "1.5"/],
    [['mixed', '--minutes', 'ten'], /--minutes takes a number above 0, not "ten"/],
    [['mixed', '--loud'], /--loud/],
  ];
  for (const [args, words] of cases) {
    const { code, stdout, stderr } = await proof(...args);
    assert.deepEqual([code, stdout], [2, ''], args.join(' '));
    assert.match(stderr, words);
  }
});

test('a proof runs the tests that npm test has, with more rounds', async () => {
  const { code, stdout, stderr } = await proof('sdk', '--rounds', '3', '--json');
  assert.equal(code, 0, stdout + stderr);
  const { rounds, broken } = JSON.parse(stdout);
  assert.deepEqual([rounds, broken], [3, []]);
});

test('the files of the table exist, and repeat themselves as often as it says', () => {
  for (const one of proofs) {
    if (one.kind !== 'tests') continue;
    const files = one.files.map((pattern) => globSync(pattern, { cwd: root }));
    assert.ok(
      files.every(({ length }) => length > 0),
      one.name,
    );
    if (one.repeat !== 'inside') continue;
    const text = files.flat().map((file) => readFileSync(new URL(file, `file://${root}`), 'utf8'));
    assert.ok(
      text.every((source) => source.includes(` rounds(${one.inCi})`)),
      one.name,
    );
  }
});

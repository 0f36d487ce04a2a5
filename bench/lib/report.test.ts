import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { durationText, progressText } from '../../server/src/cli/progress.ts';
import { chart } from './chart.ts';
import { failures, judge, partsText, type Report, type RowResult, rowResult, table } from './report.ts';
import { atLeast, atMost, type Goal, reported } from './row.ts';
import { xmlProblem } from './smoke.ts';

const resultOf = (name: string, goal: Goal, rest: Pick<RowResult, 'verdict'> & Partial<RowResult>): RowResult =>
  rowResult(
    {
      name,
      title: `<${name}> & more`,
      what: `what ${name} is`,
      measuredAs: 'a ÷ b',
      goal,
      lasts: { setup: 0, round: 0 },
      measure: () => Promise.reject(),
    },
    rest,
  );

const report: Report = {
  at: '2026-01-02T03:04:05.000Z',
  node: 'v24.0.0',
  machine: 'two cores',
  rounds: 3,
  short: false,
  rows: [
    resultOf('good', atLeast(0.75), {
      verdict: 'holds',
      values: [0.9, 0.7, 0.8],
      parts: [{ label: 'ours', unit: 'requests/s', values: [900, 700, 800] }],
    }),
    resultOf('bad', atMost(1.2), { verdict: 'misses', values: [400] }),
    resultOf('shrunk', atMost(5, ' %'), { verdict: 'holds', values: [-0.5] }),
    resultOf('told', reported, { verdict: 'reported', values: [1.5] }),
    resultOf('absent', atLeast(1), { verdict: 'skipped', note: 'needs Redis (the program redis-server)' }),
  ],
};

test('a row is judged by the median of its rounds', () => {
  assert.equal(report.rows[0]?.value, 0.8);
  assert.equal(judge(atLeast(0.75), 0.75), 'holds');
  assert.equal(judge(atLeast(0.75), 0.749), 'misses');
  assert.equal(judge(atMost(1.2), 1.2), 'holds');
  assert.equal(judge(atMost(1.2), 1.21), 'misses');
  assert.equal(judge(reported, 0), 'reported');
});

test('the table shows goal, median, spread and verdict, and why a row was not run', () => {
  const text = table(report.rows);
  assert.match(
    text,
    /✓ {2}good +≥ 0\.75 +0\.80 +\(0\.70–0\.90\) +holds +what good is\n +ours: 800 requests\/s \(700–900\)/,
  );
  assert.match(text, /✗ {2}bad +≤ 1\.2 +400 +misses/);
  assert.match(text, /· {2}told +reported +1\.50 +reported/);
  assert.match(text, /– {2}absent +≥ 1 +– +skipped .*\n +needs Redis \(the program redis-server\)/);
});

test('a run fails by the rows that miss their goal or break, and by no others', () => {
  const broken = resultOf('broken', atLeast(1), { verdict: 'failed', note: 'the server ended' });
  assert.deepEqual(failures([...report.rows, broken]), ['bad misses', 'broken failed']);
  assert.deepEqual(failures(report.rows.filter(({ name }) => name !== 'bad')), []);
});

test('a run that is asked for wrongly says what it takes, and measures nothing', () => {
  const program = new URL('../run.ts', import.meta.url).pathname;
  for (const [args, words] of [
    [['--only', 'me,nothing'], /No row nothing\. Rows: me, tips/],
    [['--rounds', '0'], /whole number from 1/],
    [['--smoke', '--write-docs'], /no short run/],
  ] as const) {
    const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], { encoding: 'utf8' });
    assert.deepEqual([status, stdout], [2, '']);
    assert.match(stderr, words);
  }
});

test('parts of one label stand together', () => {
  const parts = [
    { label: 'ours', unit: 'requests/s', values: [12_000.4] },
    { label: 'ours', unit: 'µs each', values: [68.44] },
    { label: 'bare', unit: 'requests/s', values: [17_000] },
  ];
  assert.deepEqual(partsText(parts), [
    { label: 'ours', text: '12,000 requests/s, 68.4 µs each' },
    { label: 'bare', text: '17,000 requests/s' },
  ]);
});

test('the picture is well-formed and holds every row, whatever its values are', () => {
  const svg = chart(report);
  assert.equal(xmlProblem(svg), undefined);
  for (const { name } of report.rows) assert.ok(svg.includes(`&lt;${name}> &amp; more`), name);
  assert.doesNotMatch(svg, /NaN|Infinity|undefined|null/);
  assert.equal(svg.match(/<rect class="misses"/g)?.length, 1);
  assert.equal(svg.match(/<rect class="holds"/g)?.length, 2);
});

test('progress tells how quickly it goes and how long it still takes', () => {
  assert.equal(
    progressText({ done: 250, total: 1_000, unit: 'tips' }, 500),
    '25 % (250 of 1000 tips), 500/s, 2 s left',
  );
  assert.deepEqual([5, 65, 120, 1_100].map(durationText), ['5 s', '1 min 5 s', '2 min', '18 min']);
});

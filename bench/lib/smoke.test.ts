import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { temporaryDirectory } from '../../server/test/temporary-directory.ts';
import { rows } from '../rows/index.ts';
import { chart } from './chart.ts';
import { type Report, type RowResult, rowResult } from './report.ts';
import { smokeProblems, xmlProblem } from './smoke.ts';

const [row] = rows;
const parts = [{ label: 'ours', unit: 'requests/s', values: [900] }];
const ran = rowResult(row!, { verdict: 'ran', values: [0.0001], parts });

function problemsOf(
  t: TestContext,
  results: readonly RowResult[],
  change: (svg: string) => string = (svg) => svg,
): string[] {
  const folder = temporaryDirectory(t);
  const report: Report = { at: '2026-01-02', node: 'v24', machine: 'one core', rounds: 1, short: true, rows: results };
  const [json, svg] = [join(folder, 'report.json'), join(folder, 'report.svg')];
  writeFileSync(json, JSON.stringify(report));
  writeFileSync(svg, change(chart(report)));
  return smokeProblems({ json: pathToFileURL(json), svg: pathToFileURL(svg) });
}

test('a smoke run passes however slow the machine is', (t) => {
  assert.deepEqual(problemsOf(t, [ran]), []);
});

test('a smoke run fails where a row cannot run or what it wrote is not sane', (t) => {
  const bad: [why: RegExp, results: readonly RowResult[], change?: (svg: string) => string][] = [
    [/^me: failed, it broke$/, [rowResult(row!, { verdict: 'failed', note: 'it broke' })]],
    [/^me: skipped, needs Redis$/, [rowResult(row!, { verdict: 'skipped', note: 'needs Redis' })]],
    [/^me: its figures/, [{ ...ran, parts: [{ ...parts[0]!, values: [0] }] }]],
    [/^me: its figures/, [{ ...ran, parts: [{ ...parts[0]!, values: [Number.NaN] }] }]],
    [/^me: its figures/, [{ ...ran, parts: [] }]],
    [/^me: its figures/, [{ ...ran, value: null }]],
    [/^no row was run$/, []],
    [/^the picture: .*closed/, [ran], (svg) => svg.replace('</svg>', '')],
    [/^the picture lacks me$/, [ran], (svg) => svg.replaceAll(ran.title, '')],
  ];
  for (const [why, results, change] of bad) {
    const problems = problemsOf(t, results, change);
    assert.equal(problems.length, 1, problems.join());
    assert.match(problems[0]!, why);
  }
});

test('XML that is not well-formed is found out', () => {
  assert.equal(xmlProblem('<a b="1"><c/>x &amp; y</a>\n'), undefined);
  for (const bad of ['<a>', '<a></b>', '<a b=1></a>', '<a>x & y</a>', '<a/>x', '<a b="1" <c/>', '</a>', '<a b="<"/>'])
    assert.ok(xmlProblem(bad), bad);
});

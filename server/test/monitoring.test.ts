import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { quickRules, rulesFile, skipWithoutPrometheus } from './prometheus.ts';

const ops = new URL('../../ops/', import.meta.url);
const rules = readFileSync(rulesFile, 'utf8');
const names = [...rules.matchAll(/^ +- alert: (\w+)$/gm)].map(([, name = '']) => name);

test('promtool accepts the rules and the example configuration', { skip: skipWithoutPrometheus }, () => {
  for (const [what, file] of [
    ['rules', 'prometheus/alerts.yaml'],
    ['config', 'prometheus/prometheus.yaml'],
  ] as const) {
    const { status, stdout, stderr } = spawnSync('promtool', ['check', what, fileURLToPath(new URL(file, ops))], {
      encoding: 'utf8',
    });
    assert.equal(status, 0, stdout + stderr);
  }
});

test('every alert has a severity, a summary, and a section of the guide in both languages, and there are no others', () => {
  const blocks = rules.split(/^ +- alert: /m).slice(1);
  assert.ok(blocks.length >= 20);
  for (const block of blocks) {
    const [name = ''] = block.split('\n', 1);
    assert.match(block, /^ +severity: (critical|warning)$/m, name);
    assert.match(block, /^ +summary: ".+"$/m, name);
    assert.match(block, new RegExp(`^ +runbook: docs/operations\\.md#${name.toLowerCase()}$`, 'm'), name);
  }
  for (const guide of ['operations.md', 'operations.th.md']) {
    const text = readFileSync(new URL(`../../docs/${guide}`, import.meta.url), 'utf8');
    const sections = [...text.matchAll(/^### (Namjai\w+)$/gm)].map(([, name = '']) => name);
    assert.deepEqual(sections.sort(), [...names].sort(), guide);
  }
});

test('tests have the same rules with seconds for minutes', () => {
  const quick = quickRules();
  assert.match(quick, /increase\(namjai_limiter_fallback_total\[10s\]\)/);
  assert.match(quick, /changes\(process_start_time_seconds\{job="namjai"\}\[120s\]\)/);
  assert.doesNotMatch(quick, /for: \d+[mh]|\[\d+[mh]\]/);
  const withoutTimes = (text: string): string => text.replaceAll(/(for: |\[)\d+[smh]/g, '$1');
  assert.equal(withoutTimes(quick), withoutTimes(rules));
});

interface Place {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

interface DashboardPanel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: Place;
  readonly targets?: readonly { readonly refId: string; readonly expr: string; readonly legendFormat: string }[];
}

test('the dashboard has panels beside each other, all of the chosen nodes', () => {
  const text = readFileSync(new URL('grafana/namjai.json', ops), 'utf8');
  const { panels } = JSON.parse(text) as { panels: readonly DashboardPanel[] };
  assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
  const overlap = (a: Place, b: Place): boolean =>
    a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
  for (const [i, { title, gridPos, type, targets = [] }] of panels.entries()) {
    assert.ok(gridPos.x + gridPos.w <= 24, title);
    for (const other of panels.slice(i + 1)) assert.ok(!overlap(gridPos, other.gridPos), `${title}, ${other.title}`);
    if (type === 'row') continue;
    assert.ok(targets.length > 0, title);
    for (const { expr, legendFormat } of targets) {
      assert.match(expr, /instance=~"\$node"/, title);
      assert.ok(legendFormat, title);
    }
  }
  assert.deepEqual(
    panels.filter(({ type }) => type === 'row').map(({ title }) => title),
    ['Are people served?', 'Are events delivered?', 'Is storage well?', 'Are nodes well?'],
  );
});

/**
 * Writes ops/grafana/namjai.json, the dashboard for on-call, from the table of grafana-panels.ts; with `--check` it fails while the file
 * differs. `npm run generate` runs it.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { type Panel, rows } from './grafana-panels.ts';

const file = new URL('../ops/grafana/namjai.json', import.meta.url);

const datasource = { type: 'prometheus', uid: '$datasource' };
const [panelWidth, panelHeight, columns] = [8, 8, 3];

const panelOf = ({ title, help, unit, lines, alarming }: Panel) => ({
  type: 'timeseries',
  title,
  ...(help === undefined ? {} : { description: help }),
  datasource,
  fieldConfig: {
    defaults: {
      unit,
      min: unit === 's' ? undefined : 0,
      custom: {
        lineWidth: 1,
        fillOpacity: 5,
        showPoints: 'never',
        thresholdsStyle: { mode: alarming ? 'line' : 'off' },
      },
      thresholds: {
        mode: 'absolute',
        steps: [
          { color: 'green', value: null },
          ...(alarming === undefined ? [] : [{ color: 'red', value: alarming }]),
        ],
      },
    },
    overrides: [],
  },
  options: {
    legend: { displayMode: 'list', placement: 'bottom', showLegend: true },
    tooltip: { mode: 'multi', sort: 'desc' },
  },
  targets: Object.entries(lines).map(([legendFormat, expr], index) => ({
    refId: String.fromCharCode(65 + index),
    datasource,
    expr,
    legendFormat,
  })),
});

/** Rows of three panels below the title of their question. */
function layOut() {
  const panels: object[] = [];
  let [id, y] = [1, 0];
  for (const [title, list] of Object.entries(rows)) {
    panels.push({ id: id++, type: 'row', title, collapsed: false, gridPos: { h: 1, w: 24, x: 0, y }, panels: [] });
    y += 1;
    for (const [index, panel] of list.entries()) {
      const x = (index % columns) * panelWidth;
      const gridPos = { h: panelHeight, w: panelWidth, x, y: y + Math.floor(index / columns) * panelHeight };
      panels.push({ id: id++, gridPos, ...panelOf(panel) });
    }
    y += Math.ceil(list.length / columns) * panelHeight;
  }
  return panels;
}

const dashboard = {
  uid: 'namjai',
  title: 'Namjai',
  description: 'For on-call. Alerts and what to do about them: docs/operations.md',
  tags: ['namjai'],
  schemaVersion: 38,
  version: 1,
  editable: true,
  time: { from: 'now-3h', to: 'now' },
  refresh: '30s',
  templating: {
    list: [
      { name: 'datasource', label: 'Source', type: 'datasource', query: 'prometheus', hide: 0 },
      {
        name: 'node',
        label: 'Node',
        type: 'query',
        datasource,
        query: { query: 'label_values(up{job="namjai"}, instance)', refId: 'node' },
        refresh: 2,
        sort: 1,
        multi: true,
        includeAll: true,
        allValue: '.*',
        current: { text: ['All'], value: ['$__all'] },
      },
    ],
  },
  annotations: {
    list: [
      {
        name: 'Alerts',
        enable: true,
        iconColor: 'red',
        datasource,
        expr: 'ALERTS{alertname=~"Namjai.*",alertstate="firing"}',
        titleFormat: '{{alertname}}',
        textFormat: '{{instance}}',
      },
    ],
  },
  panels: layOut(),
};

const text = `${JSON.stringify(dashboard, null, 2)}\n`;
if (!process.argv.includes('--check')) writeFileSync(file, text);
else if (readFileSync(file, 'utf8') !== text) {
  console.error('ops/grafana/namjai.json is out of date. Run: npm run generate');
  process.exitCode = 1;
}

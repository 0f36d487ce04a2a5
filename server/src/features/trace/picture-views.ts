/**
 * The picture of a trace: a line of time with a lane for each receiver. Steps stand in the order of time, evenly, because
 * milliseconds and days would not fit on one scale; the top tells the time since the first. The list has the same in
 * words, so readers of screens pass the picture over.
 */
import { attributes, type Html, html } from '../../platform/web/html.ts';
import { duration, missingLabel, missingTone, shortText, toneOf } from './describe.ts';
import type { LaneStep, TraceView } from './model.ts';
import type { TraceT } from './words.ts';

const size = { column: 84, row: 56, top: 30, radius: 9, edge: 42 };
/** A picture of all attempts of many webhooks would be wider than any screen can scroll. */
const maxColumns = 60;

interface Column {
  readonly at: number;
  readonly steps: Map<string, LaneStep>;
}

/** Steps of one instant share a column, unless they are of one lane. */
function columnsOf(steps: readonly LaneStep[]): Column[] {
  const columns: Column[] = [];
  for (const step of steps) {
    const at = Date.parse(step.at);
    const last = columns.at(-1);
    if (last && last.at === at && !last.steps.has(step.lane)) last.steps.set(step.lane, step);
    else columns.push({ at, steps: new Map([[step.lane, step]]) });
  }
  return columns;
}

const centre = (index: number): number => size.edge + index * size.column;
const middle = (row: number): number => size.top + row * size.row + 18;

export function tracePicture(view: TraceView, names: ReadonlyMap<string, string>, t: TraceT): Html {
  const all = columnsOf(view.steps);
  const columns = all.slice(0, maxColumns);
  const shown = new Set(columns.flatMap(({ steps }) => [...steps.keys()]));
  const lanes = [...names.keys()].filter(
    (id) => shown.has(id) || id === 'server' || view.missing.some(({ lane }) => lane === id),
  );
  const open = view.missing.length > 0;
  const width = centre(columns.length - (open ? 0 : 1)) + size.edge;
  const height = size.top + lanes.length * size.row;
  const start = columns[0]?.at ?? 0;
  const labels = columns.map(({ at }, index) => {
    const before = columns[index - 1]?.at;
    const text = index === 0 ? t('start') : at === before ? '' : `+${duration(at - start, t)}`;
    return html`<text class="label" x="${centre(index)}" y="14">${text}</text><line class="tick" x1="${centre(index)}" x2="${centre(index)}" y1="22" y2="${height}"/>`;
  });
  const now = open ? html`<text class="label" x="${centre(columns.length)}" y="14">${t('now')}</text>` : '';
  const rows = lanes.map((id, row) => laneRow({ id, row, columns, view, t }));
  const more = all.length > columns.length ? ` ${t('longPicture', { count: maxColumns })}` : '';
  return html`
<div class="trace-picture" aria-hidden="true">
  <ul>!${lanes.map((id) => html`<li><bdi class="written">${names.get(id)}</bdi></li>`)}</ul>
  <div><svg!${attributes({ width, height, viewBox: `0 0 ${width} ${height}` })}>!${labels}!${now}!${rows}</svg></div>
</div>
<p class="hint" aria-hidden="true">${t('notToScale')}${more}</p>`;
}

interface Row {
  readonly id: string;
  readonly row: number;
  readonly columns: readonly Column[];
  readonly view: TraceView;
  readonly t: TraceT;
}

function laneRow({ id, row, columns, view, t }: Row): Html {
  const y = middle(row);
  const own = columns.flatMap(({ steps }, index) => {
    const step = steps.get(id);
    return step ? [{ step, x: centre(index) }] : [];
  });
  const absent = view.missing.find(({ lane }) => lane === id);
  const [from, to] = [own[0]?.x ?? centre(0), own.at(-1)?.x ?? centre(0)];
  const end = centre(columns.length);
  const line = html`<line class="lane" x1="${from}" x2="${to}" y1="${y}" y2="${y}"/>`;
  const rest = absent
    ? html`<line class="lane rest" x1="${to}" x2="${end}" y1="${y}" y2="${y}"/>!${mark(end, y, `missing ${missingTone(absent)}`, missingTone(absent) === 'info' ? '…' : '?', t(missingLabel(absent)))}`
    : '';
  const marks = own.map(({ step, x }) => mark(x, y, toneOf(step), glyphs[toneOf(step)], shortText(step, t)));
  return html`!${line}!${rest}!${marks}`;
}

/** Told apart without colours, too. */
const glyphs = { ok: '✓', error: '✕', warn: '!', info: '', plain: '' } as const;

const mark = (x: number, y: number, kind: string, glyph: string, label: string): Html =>
  html`<g class="${kind}"><circle cx="${x}" cy="${y}" r="${size.radius}"/><text class="glyph" x="${x}" y="${y + 4}">${glyph}</text><text class="name" x="${x}" y="${y + 24}">${label}</text></g>`;

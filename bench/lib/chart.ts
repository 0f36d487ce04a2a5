/**
 * The table as a picture: how far each row is beyond its goal, on a scale of doublings, so that twice as good and half
 * as good look alike. A row's words stand above its bar, which leaves them readable on a phone; a mark beside them
 * says with its shape what the colours say. Colours follow the reader's light or dark setting.
 */
import { format, goalText, type Report, type RowResult, spread } from './report.ts';

const [width, margin, rowHeight, top] = [540, 24, 50, 112];
/** Doublings that fit on each side of the goal. */
const [below, above] = [1.2, 3];
const doubling = (width - 2 * margin) / (below + above);
const goalAt = Math.round(margin + below * doubling);
const barHeight = 10;

export function chart(report: Report): string {
  const bottom = top + report.rows.length * rowHeight;
  const height = bottom + 44;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="Each row’s measured value against its goal" font-family="system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif" font-size="15">
<style>
  .ground { fill: #ffffff } .ink { fill: #1c2127 } .soft { fill: #59636e } .track { fill: #eef1f3 }
  .holds { fill: #3a9870 } .misses { fill: #cb573c } .none { fill: #8b949e } .mark { stroke: #ffffff }
  .grid { stroke: #d5dbe0 } .goal { stroke: #1c2127 } .spread { stroke: #1c2127 }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #14181d } .ink { fill: #e8ebee } .soft { fill: #9ba5af } .track { fill: #20262d }
    .holds { fill: #4fb286 } .misses { fill: #e5795c } .none { fill: #6e7781 } .mark { stroke: #14181d }
    .grid { stroke: #353d46 } .goal { stroke: #e8ebee } .spread { stroke: #e8ebee }
  }
  .value { font-weight: 600; font-variant-numeric: tabular-nums } .small { font-size: 13px }
  .mark { fill: none; stroke-width: 2; stroke-linecap: round; stroke-linejoin: round }
</style>
<rect class="ground" width="${width}" height="${height}" rx="10"/>
<text class="ink" x="${margin}" y="38" font-size="21" font-weight="650">Measured against its goals</text>
<text class="soft small" x="${margin}" y="61">${xml(subtitle(report))}</text>
${scale.map(([power, label]) => scaleLabel(power, label)).join('\n')}
${report.rows.map(row).join('\n')}
<text class="soft small" x="${margin}" y="${bottom + 26}">Right of the line is better than the goal. Thin lines span all rounds.</text>
</svg>
`;
}

const subtitle = ({ rounds, machine, node, at, short }: Report): string =>
  short
    ? 'A short run that tests the benchmark: its figures mean nothing'
    : `${rounds === 1 ? 'One round' : `Median of ${rounds} rounds`}, ${machine}, Node ${node}, ${at.slice(0, 10)}`;

const scale: readonly (readonly [power: number, label: string])[] = [
  [-1, '½'],
  [0, 'goal'],
  [1, '2×'],
  [2, '4×'],
  [3, '8×'],
];

const scaleLabel = (power: number, label: string): string =>
  `<text class="${power === 0 ? 'ink value' : 'soft'} small" x="${round(goalAt + power * doubling)}" y="${top - 10}" text-anchor="${power === above ? 'end' : 'middle'}">${label}</text>`;

/** In the rows' bars alone, so that no line runs through words. */
const ticks = (y: number): string =>
  scale
    .filter(([power]) => power !== 0 && power !== above)
    .map(([power]) => `<path class="grid" d="M${round(goalAt + power * doubling)} ${y}v${barHeight}"/>`)
    .join('');

function row(result: RowResult, index: number): string {
  const y = top + index * rowHeight;
  const kind =
    result.verdict === 'misses' || result.verdict === 'failed'
      ? 'misses'
      : result.verdict === 'holds'
        ? 'holds'
        : 'none';
  return `<g>
<circle class="${kind}" cx="${margin + 8}" cy="${y + 15}" r="8"/>${marks[kind](margin + 8, y + 15)}
<text class="ink" x="${margin + 24}" y="${y + 20}">${xml(result.title)}</text>
<text x="${width - margin}" y="${y + 20}" text-anchor="end">${figures(result)}</text>
<rect class="track" x="${margin}" y="${y + 29}" width="${width - 2 * margin}" height="${barHeight}" rx="3"/>${ticks(y + 29)}
${bar(result, y + 29, kind)}<path class="goal" d="M${goalAt} ${y + 26}v${barHeight + 6}" stroke-width="2"/>
</g>`;
}

const marks = {
  holds: (x: number, y: number) => `<path class="mark" d="M${x - 3.5} ${y + 0.5}l2.5 2.5l4.5 -5"/>`,
  misses: (x: number, y: number) => `<path class="mark" d="M${x - 3} ${y - 3}l6 6m0 -6l-6 6"/>`,
  none: (x: number, y: number) => `<path class="mark" d="M${x - 3.5} ${y}h7"/>`,
};

function figures({ value, values, goal, verdict, note }: RowResult): string {
  const bold = (text: string): string => `<tspan class="ink value">${xml(text)}</tspan>`;
  const soft = (text: string): string => `<tspan class="soft small">${xml(text)}</tspan>`;
  if (value === null) return `${bold(verdict)}${soft(` · ${note?.split(/\n| \(/)[0] ?? ''}`)}`;
  const aim = goal.kind === 'reported' ? 'reported' : goalText(goal);
  return `${bold(format(value, goal.unit))}${soft(`${spread(values)} · ${aim}`)}`;
}

function bar({ value, values, goal }: RowResult, y: number, kind: string): string {
  if (value === null || goal.kind === 'reported') return '';
  const end = xOf(value, goal);
  const from = Math.min(goalAt, end);
  const ends = values.map((each) => xOf(each, goal));
  const [least, most] = [Math.min(...ends), Math.max(...ends)];
  const whisker =
    values.length > 1
      ? `<path class="spread" d="M${round(least)} ${y + 1.5}v7m0 -3.5H${round(most)}m0 -3.5v7" fill="none" stroke-width="1.2"/>`
      : '';
  // Marks a bar that is longer than the scale.
  const on = end >= width - margin ? `<path class="mark" d="M${end - 9} ${y + 2.5}l3 2.5l-3 2.5"/>` : '';
  return `<rect class="${kind}" x="${round(from)}" y="${y}" width="${round(Math.max(3, Math.abs(end - goalAt)))}" height="${barHeight}" rx="2"/>${on}${whisker}\n`;
}

/** Where a value stands; what lies beyond the scale stands at its end. A growth of nothing or less is beyond it. */
function xOf(value: number, goal: RowResult['goal']): number {
  const beyond = goal.kind === 'at least' ? value / goal.value : goal.value / Math.max(value, 1e-9);
  return goalAt + Math.max(-below, Math.min(above, Math.log2(Math.max(beyond, 1e-9)))) * doubling;
}

const round = (value: number): number => Math.round(value * 10) / 10;

const xml = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

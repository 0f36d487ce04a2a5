import { format, goalText, type Line, type Report } from './report.ts';

/**
 * The table as a picture: how far each row is beyond its goal, on a scale of doublings, so that twice as good and
 * half as good look alike. Colours follow the reader's light or dark setting.
 */
const [width, left, right, rowHeight, top] = [900, 330, 160, 34, 64];
const span = width - left - right;
const goalAt = left + span * 0.35;
/** Pixels for one doubling. */
const doubling = span * 0.2;

export function chart(report: Report): string {
  const lines = report.rows.filter(({ value, goal }) => value !== null && goal.kind !== 'reported');
  const height = top + lines.length * rowHeight + 34;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="Measured values against their goals" font-family="system-ui, sans-serif" font-size="13">
<style>
  .ground { fill: #ffffff } .ink { fill: #1f2328 } .soft { fill: #59636e } .holds { fill: #2f7d5b } .misses { fill: #b4472f }
  .rule { stroke: #59636e; stroke-width: 1.5 }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #14181d } .ink { fill: #e6e9ec } .soft { fill: #9aa4ae } .holds { fill: #57b98c } .misses { fill: #e0795f }
    .rule { stroke: #9aa4ae }
  }
</style>
<rect class="ground" width="${width}" height="${height}"/>
<text class="ink" x="20" y="28" font-size="17" font-weight="600">Measured against its goals</text>
<text class="soft" x="${goalAt}" y="${top - 10}" text-anchor="middle">goal</text>
${lines.map(bar).join('\n')}
<line class="rule" x1="${goalAt}" x2="${goalAt}" y1="${top - 4}" y2="${height - 34}"/>
<text class="soft" x="20" y="${height - 12}" font-size="12">Right of the line is better; each ${Math.round(doubling)} px is a factor of two. ${xml(`${report.machine}, Node ${report.node}, ${report.at.slice(0, 10)}`)}</text>
</svg>
`;
}

function bar(line: Line, index: number): string {
  const { value, goal, verdict } = line;
  const y = top + index * rowHeight;
  const beyond = goal.kind === 'at least' ? value! / goal.value : goal.value / value!;
  const length = Math.max(-goalAt + left, Math.min(left + span - goalAt, Math.log2(beyond) * doubling));
  const x = Math.min(goalAt, goalAt + length);
  const kind = verdict === 'misses' ? 'misses' : 'holds';
  return `<text class="ink" x="20" y="${y + 21}">${xml(short(line.what))}</text>
<rect class="${kind}" x="${x.toFixed(1)}" y="${y + 7}" width="${Math.max(2, Math.abs(length)).toFixed(1)}" height="20" rx="3"/>
<text class="ink" x="${width - right + 12}" y="${y + 21}" font-weight="600">${format(value, goal.unit)}</text>
<text class="soft" x="${width - 20}" y="${y + 21}" text-anchor="end">${xml(goalText(goal))}</text>`;
}

const short = (text: string): string => (text.length > 46 ? `${text.slice(0, 45).trimEnd()}…` : text);

const xml = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

import { fold, table } from '../../platform/web/blocks.ts';
import { money, type Times } from '../../platform/web/format.ts';
import { type Html, html } from '../../platform/web/html.ts';
import type { Lang } from '../../platform/web/i18n.ts';
import type { DayTotal } from '../tips/index.ts';
import { dashboardWords } from './words.ts';

export interface ChartOptions {
  readonly days: readonly DayTotal[];
  readonly lang: Lang;
  readonly times: Times;
}

/** Width of a day and height of the chart, in units of its viewBox. */
const step = 10;
const height = 100;

/**
 * A bar chart by day. The server draws it, so that it needs no script. The texts are outside of the SVG, so that they keep
 * their size on a phone. A sentence above and a table below give the same numbers as text.
 */
export function chart({ days, lang, times }: ChartOptions): Html {
  const t = dashboardWords(lang);
  const date = (day: DayTotal | undefined, style?: 'short') =>
    day ? times.dateText(new Date(day.startsAt), lang, style) : '';
  const best = days.reduce((a, b) => (b.totalMinor > a.totalMinor ? b : a));
  const total = days.reduce((sum, { totalMinor }) => sum + totalMinor, 0);
  const count = days.reduce((sum, day) => sum + day.count, 0);
  const most = roundUp(best.totalMinor);
  const sumOf = (minor: number, tips: number) =>
    tips === 1
      ? t('sumOfOne', { amount: money(minor) })
      : t('sumOf', { amount: money(minor), count: tips.toLocaleString('en') });
  const label = (day: DayTotal) => `${date(day)}: ${sumOf(day.totalMinor, day.count)}`;
  const bestDay = t('best', { amount: money(best.totalMinor), day: date(best) });
  const summary = count === 0 ? t('quiet') : `${sumOf(total, count)} ${bestDay}`;
  const span = { from: date(days[0]), to: date(days.at(-1)) };

  return html`
<p class="intro">${summary}</p>
<div class="chart">
  <div class="scale" aria-hidden="true"><span>${axis(most)}</span><span>${axis(most / 2)}</span><span>${axis(0)}</span></div>
  <svg viewBox="0 0 ${days.length * step} ${height}" preserveAspectRatio="none" role="img" aria-labelledby="chart-title chart-text">
    <title id="chart-title">${t('chartTitle', span)}</title>
    <desc id="chart-text">${summary}</desc>
    <path class="grid" d="M0 0H${days.length * step}M0 ${height / 2}H${days.length * step}" vector-effect="non-scaling-stroke"/>
    !${days.map((day, index) => bar(day, index, most, label(day)))}
    <path class="ground" d="M0 ${height}H${days.length * step}" vector-effect="non-scaling-stroke"/>
  </svg>
  <div class="dates" aria-hidden="true"><span>${date(days[0], 'short')}</span><span>${date(days[Math.floor(days.length / 2)], 'short')}</span><span>${date(days.at(-1), 'short')}</span></div>
</div>
!${count === 0 ? '' : fold({ summary: t('asTable'), body: dayTable() })}`;

  function dayTable(): Html {
    return table({
      caption: t('chartTitle', span),
      columns: [{ label: t('day') }, { label: t('amount'), numeric: true }, { label: t('tips'), numeric: true }],
      rows: days
        .filter((day) => day.count > 0)
        .reverse()
        .map((day) => [
          times.date(new Date(day.startsAt), lang),
          html`${money(day.totalMinor)}`,
          html`${day.count.toLocaleString('en')}`,
        ]),
    });
  }
}

/** The whole column of a day shows the tooltip, because a small bar is hard to hit. */
function bar(day: DayTotal, index: number, most: number, label: string): Html {
  const tall = day.totalMinor === 0 ? 0 : Math.max(1, (day.totalMinor / most) * height);
  const x = index * step;
  return html`<g><title>${label}</title><rect class="column" x="${x}" y="0" width="${step}" height="${height}"/><rect class="sum" x="${x + 1.5}" y="${(height - tall).toFixed(2)}" width="${step - 3}" height="${tall.toFixed(2)}"/></g>`;
}

/** The next round amount of at least a baht. */
function roundUp(satang: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(satang, 100)));
  return ([1, 2, 3, 4, 5, 6, 8].find((each) => each * power >= satang) ?? 10) * power;
}

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const axis = (satang: number): string => `฿${compact.format(satang / 100)}`;

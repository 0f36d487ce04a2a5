import { card, emptyState, heading, linkButton, stats } from '../../platform/web/blocks.ts';
import { money, type Times } from '../../platform/web/format.ts';
import { buttonForm } from '../../platform/web/forms.ts';
import { type Html, html } from '../../platform/web/html.ts';
import type { Lang } from '../../platform/web/i18n.ts';
import type { DayTotal, Tip, Tips } from '../tips/index.ts';
import { chart } from './chart-views.ts';
import { newTipPath, tipsHome } from './tip-paths.ts';
import { quickSearch, tipTable } from './tips-views.ts';
import { dashboardWords } from './words.ts';

interface Overview {
  readonly totals: Awaited<ReturnType<Tips['stats']>>;
  readonly days: readonly DayTotal[];
  readonly tips: readonly Tip[];
  readonly lang: Lang;
  readonly times: Times;
}

/**
 * The totals, the chart of the last days, and the newest tips. A script updates the elements with `data-live` when tips
 * arrive.
 */
function overview({ totals, days, tips, lang, times }: Overview): Html {
  const t = dashboardWords(lang);
  const live = (name: string, body: Html): Html => html`<div data-live="${name}">!${body}</div>`;
  const numbers = stats([
    { label: t('thisMonth'), value: money(totals.current_month.total_minor) },
    { label: t('tipsThisMonth'), value: totals.current_month.count.toLocaleString('en') },
    { label: t('allTime'), value: money(totals.all_time.total_minor) },
    { label: t('tipsAllTime'), value: totals.all_time.count.toLocaleString('en') },
  ]);
  return html`
!${live('numbers', numbers)}
!${live('chart', tips.length > 0 ? card({ title: t('lastDays'), body: chart({ days, lang, times }) }) : '')}
!${card({
    title: t('recent'),
    body: html`!${tips.length > 0 ? quickSearch(t) : ''}!${live('tips', tips.length > 0 ? newest() : nothingYet())}`,
    actions:
      tips.length > 0
        ? html`!${linkButton(t('searchAll'), tipsHome)}!${linkButton(t('export'), `${tipsHome}.csv`)}`
        : '',
  })}
<p class="visually-hidden" role="status" data-live-news="${t('news', { amount: '{amount}', name: '{name}' })}"></p>`;

  function newest(): Html {
    return tipTable(tips, { caption: t('recent'), lang, times });
  }

  function nothingYet(): Html {
    const action = linkButton(t('overlay'), '/dashboard/overlay', 'primary');
    return emptyState({ title: t('empty'), text: t('emptyText'), action });
  }
}

interface DashboardView extends Overview {
  readonly displayName: string;
  readonly csrf: string;
  readonly steps: Html;
  readonly switchedOff: Html;
}

export function dashboardView({ displayName, csrf, steps, switchedOff, ...shown }: DashboardView): Html {
  const t = dashboardWords(shown.lang);
  const test = buttonForm({ action: '/dashboard/test-alert', csrf, label: t('testAlert') });
  return html`
      !${heading({ title: t('title'), intro: t('hello', { name: displayName }), actions: html`<span class="badge ok" data-live-badge hidden>${t('live')}</span>!${linkButton(t('enterTip'), newTipPath)}!${test}` })}
      !${switchedOff}
      !${steps}
      !${overview(shown)}`;
}

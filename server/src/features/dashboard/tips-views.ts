import {
  badge,
  button,
  card,
  emptyState,
  heading,
  linkButton,
  table,
  written,
  writtenName,
} from '../../platform/web/blocks.ts';
import { displayName } from '../../platform/web/browser/text.ts';
import { money, type Times } from '../../platform/web/format.ts';
import { field, select } from '../../platform/web/forms.ts';
import { attributes, type Html, html } from '../../platform/web/html.ts';
import type { Lang } from '../../platform/web/i18n.ts';
import type { Tip } from '../tips/index.ts';
import { supportersToErase } from './erase-views.ts';
import { eraseWords } from './erase-words.ts';
import { newTipPath, tipPath, tipsHome } from './tip-paths.ts';
import { searchQuery, type Typed, type Wrong } from './tips-search.ts';
import { type DashboardT, dashboardWords } from './words.ts';

export interface SearchView {
  readonly lang: Lang;
  readonly times: Times;
  readonly typed: Typed;
  readonly wrong: Wrong;
  readonly apps: readonly { readonly id: string; readonly name: string }[];
  /** Not set if the search was invalid. */
  readonly found: Found | undefined;
}

interface Found {
  readonly tips: readonly Tip[];
  readonly first: boolean;
  /** The next page. `reached` is set if the search ended there because it had read its maximum. */
  readonly next: { readonly cursor: string; readonly reached: Date | undefined } | undefined;
}

/** The search field on the dashboard. */
export const quickSearch = (t: DashboardT): Html => html`
<form class="search quick" method="get" action="${tipsHome}" role="search">
  <input type="search" name="q" maxlength="300" aria-label="${t('searchLabel')}" placeholder="${t('searchLabel')}">
  !${button(t('search'), { kind: 'plain' })}
</form>`;

export function searchView(o: SearchView): Html {
  const t = dashboardWords(o.lang);
  return html`
!${heading({ title: t('searchTitle'), intro: t('searchIntro') })}
!${card({ body: searchForm(o, t) })}
!${o.found ? results(o, o.found, t) : ''}`;
}

function searchForm({ typed, wrong, apps }: SearchView, t: DashboardT): Html {
  const options: [string, string][] = [
    ['', t('anyApp')],
    ...apps.map(({ id, name }): [string, string] => [id, displayName(name)]),
    ['creator', t('byHand')],
    ['cli', t('operator')],
  ];
  const statuses: [string, string][] = [
    ['', t('anyStatus')],
    ['recorded', t('recorded')],
    ['voided', t('voided')],
  ];
  const of = (name: keyof Typed) => ({ name, value: typed[name], error: wrong[name] });
  return html`
<form class="search" method="get" action="${tipsHome}" role="search" novalidate!${attributes({ 'aria-label': t('searchLabel') })}>
  !${field({ ...of('q'), label: t('text'), type: 'search', maxlength: 300 })}
  !${select({ ...of('app'), label: t('app'), options })}
  !${select({ ...of('status'), label: t('status'), options: statuses })}
  !${field({ ...of('from'), label: t('fromDay'), type: 'date' })}
  !${field({ ...of('to'), label: t('toDay'), type: 'date' })}
  !${field({ ...of('min'), label: t('least'), inputmode: 'decimal' })}
  !${field({ ...of('max'), label: t('most'), inputmode: 'decimal' })}
  <div class="actions">!${button(t('search'))}!${linkButton(t('clear'), tipsHome)}</div>
</form>`;
}

function results(o: SearchView, { tips, first, next }: Found, t: DashboardT): Html {
  const reached = next?.reached;
  const to = (cursor: string) => `${tipsHome}?${searchQuery(o.typed, { cursor })}`;
  const further = next && linkButton(t(reached ? 'further' : 'older'), to(next.cursor));
  const query = searchQuery(o.typed);
  const enter = linkButton(t('enterTip'), newTipPath, 'primary');
  const notFound = { title: t('noneTitle'), text: t('noneText') };
  const none = reached
    ? html`<div class="empty"><h3>${t('noneFar')}</h3>!${down('noneFarText', reached)}</div>`
    : emptyState(query === '' ? { title: t('empty'), text: t('emptyText'), action: enter } : notFound);
  const list = tipTable(tips, { caption: t('results'), lang: o.lang, times: o.times });
  return html`
!${card({
    title: t('results'),
    body: html`!${tips.length > 0 ? list : none}!${tips.length > 0 && reached ? down('far', reached) : ''}`,
    actions: html`!${first ? '' : linkButton(t('newest'), `${tipsHome}?${query}`)}!${further ?? ''}`,
  })}
!${tips.length === 0 && first && !next ? '' : exportLine(query, t)}
!${o.typed.q === '' ? '' : supportersToErase(tips, eraseWords(o.lang))}`;

  function down(key: 'far' | 'noneFarText', at: Date): Html {
    return html`<p class="hint">${t(key, { time: o.times.dateText(at, o.lang) })}</p>`;
  }
}

const exportLine = (query: string, t: DashboardT): Html =>
  html`<div class="actions">!${linkButton(t('export'), `${tipsHome}.csv?${query}`)}<p class="hint">${t('exportHint')}</p></div>`;

export const sourceName = ({ source }: Tip, t: DashboardT): Html =>
  source.app_name === null
    ? html`${t(source.type === 'creator' ? 'byHand' : 'operator')}`
    : writtenName(source.app_name);

export function tipTable(tips: readonly Tip[], o: { caption: string; lang: Lang; times: Times }): Html {
  const t = dashboardWords(o.lang);
  const list = table({
    caption: o.caption,
    columns: [
      { label: t('when') },
      { label: t('from') },
      { label: t('amount'), numeric: true },
      { label: t('message') },
      { label: t('source') },
    ],
    rows: tips.map((tip) => [
      html`<a href="${tipPath(tip.id)}">!${o.times.time(new Date(tip.created_at), o.lang)}</a>`,
      writtenName(tip.display_name, tip.name),
      tip.status === 'voided'
        ? html`<span><s>${money(tip.amount_minor)}</s> !${badge(t('voided'), 'warn')}</span>`
        : html`${money(tip.amount_minor)}`,
      tip.message ? written(tip.message) : '',
      sourceName(tip, t),
    ]),
    keys: tips.map(({ id }) => id),
  });
  return html`<div class="tips ledger">!${list}</div>`;
}

import { badge, card, emptyState, heading, linkButton, rows } from '../../platform/web/blocks.ts';
import { type Html, html } from '../../platform/web/html.ts';
import { type AppRow, type FailureEntry, type FailurePosition, mostAnHour } from '../apps/index.ts';
import { failuresWords as words } from './failures-words.ts';
import type { View } from './views.ts';

const pathOf = ({ id }: Pick<AppRow, 'id'>): string => `/developers/apps/${id}/failures`;

/** A card on the page of the app that links to what failed. */
export function failuresCard({ lang }: View, app: AppRow): Html {
  const t = words(lang);
  const open = html`<div class="actions">!${linkButton(t('open'), pathOf(app))}</div>`;
  return card({ title: t('title'), intro: t('cardText'), body: open });
}

export function failuresPage(
  view: View,
  app: AppRow,
  entries: readonly FailureEntry[],
  { next, isFirst }: { next: FailurePosition | null; isFirst: boolean },
): Html {
  const t = words(view.lang);
  const top = heading({
    title: t('title'),
    intro: t('intro'),
    actions: linkButton(t('back', { app: app.name }), `/developers/apps/${app.id}`),
  });
  if (entries.length === 0 && isFirst)
    return html`!${top}!${emptyState({ alone: true, title: t('emptyTitle'), text: t('emptyText') })}`;
  const older = next ? linkButton(t('older'), `${pathOf(app)}?before=${next.at}.${next.id}`) : '';
  const paging = html`!${isFirst ? '' : linkButton(t('newest'), pathOf(app))}!${older}`;
  const meaning = html`<p><a href="/docs/errors">${t('meaning')}</a></p>`;
  const list = rows(entries.map((entry) => entryView(view, entry)));
  return html`!${top}!${card({ body: html`!${meaning}!${list}`, actions: paging })}`;
}

function entryView({ lang, times }: View, entry: FailureEntry): Parameters<typeof rows>[0][number] {
  const t = words(lang);
  if ('hour' in entry) {
    const count = new Intl.NumberFormat('en').format(entry.more);
    return {
      title: html`${t('more', { count })}`,
      text: html`${t('moreText', { most: mostAnHour })}`,
      aside: html`<span>${t('from')} !${times.time(new Date(entry.hour), lang)}</span>`,
    };
  }
  const names: (string | null)[] = JSON.parse(entry.fields);
  const fields = names.map((name) =>
    name === null ? html` ${t('wholeBody')}` : html` <code translate="no">${name}</code>`,
  );
  return {
    title: html`<code class="address" translate="no">${entry.method} ${entry.path}</code>`,
    text: html`!${badge(`${entry.status} ${entry.code}`, entry.status >= 500 ? 'error' : 'warn')}
!${names.length > 0 ? html`<span>${t('fields')}!${fields}</span>` : ''}
<span>${t('requestId')} <code translate="no">${entry.id}</code></span>`,
    aside: times.time(new Date(entry.at), lang),
  };
}

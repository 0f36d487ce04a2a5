import { badge, card, emptyState, heading, linkButton, table, writtenName } from '../../platform/web/blocks.ts';
import { type Html, html } from '../../platform/web/html.ts';
import type { AppRow } from '../apps/index.ts';
import type { ConnectedCreator } from '../oauth/index.ts';
import { accessWords as words } from './access-words.ts';
import type { View } from './views.ts';

const pathOf = ({ id }: Pick<AppRow, 'id'>): string => `/developers/apps/${id}/creators`;

/** A card on the page of the app that links to its creators. */
export function creatorsCard({ lang }: View, app: AppRow): Html {
  const t = words(lang);
  const open = html`<div class="actions">!${linkButton(t('creatorsOpen'), pathOf(app))}</div>`;
  return card({ title: t('creators'), intro: t('creatorsText'), body: open });
}

interface CreatorsView {
  readonly creators: readonly ConnectedCreator[];
  readonly sandboxes: readonly ConnectedCreator[];
  readonly next: string | null;
  readonly isFirst: boolean;
}

export const creatorsPage = (view: View, app: AppRow, shown: CreatorsView): Html =>
  html`!${creatorsList(view, app, shown)}!${sandboxesCard(view, shown.sandboxes)}`;

function creatorsList(view: View, app: AppRow, { creators, next, isFirst }: CreatorsView): Html {
  const t = words(view.lang);
  const top = heading({
    title: t('creators'),
    intro: t('creatorsText'),
    actions: linkButton(t('back', { app: app.name }), `/developers/apps/${app.id}`),
  });
  if (creators.length === 0 && isFirst)
    return html`!${top}!${emptyState({ alone: true, title: t('creatorsEmpty'), text: t('creatorsEmptyText') })}`;
  const list = creatorTable(view, t('creators'), creators, (creator) => mark(view, creator));
  const paging = html`!${isFirst ? '' : linkButton(t('newest'), pathOf(app))}!${next ? linkButton(t('older'), `${pathOf(app)}?before=${next}`) : ''}`;
  return html`!${top}!${card({ body: list, actions: paging })}`;
}

/** Sandbox creators are never listed beside real ones. */
function sandboxesCard(view: View, creators: readonly ConnectedCreator[]): Html {
  if (creators.length === 0) return '';
  const t = words(view.lang);
  const body = creatorTable(view, t('sandboxes'), creators, ({ creator_id }) => {
    const link = html`<a href="/developers/sandbox/${creator_id}">${t('console')}</a>`;
    return html` !${badge(t('sandbox'), 'info')} !${link}`;
  });
  return card({ title: t('sandboxes'), intro: t('sandboxesText'), body });
}

function creatorTable(
  view: View,
  caption: string,
  creators: readonly ConnectedCreator[],
  markOf: (creator: ConnectedCreator) => Html,
): Html {
  const t = words(view.lang);
  return table({
    caption,
    columns: [{ label: t('creator') }, { label: t('scopes') }, { label: t('since') }],
    rows: creators.map((creator) => [
      html`<div>!${writtenName(creator.display_name)} <span translate="no">@${creator.username}</span>!${markOf(creator)}</div>`,
      html`<div>!${scopesOf(creator, t('none'))}</div>`,
      view.times.time(new Date(creator.created_at), view.lang),
    ]),
  });
}

function scopesOf({ scope }: ConnectedCreator, none: string): Html {
  const names = scope === '' ? [none] : scope.split(' ');
  return html`!${names.map((name) => html`<code translate="no">${name}</code> `)}`;
}

function mark({ lang }: View, { by_operator, by_owner }: ConnectedCreator): Html {
  const t = words(lang);
  if (by_owner) return html` !${badge(t('byOwner'), 'info')}`;
  return by_operator ? html` !${badge(t('byOperator'), 'info')}` : '';
}

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { validationFailed } from '../../platform/http/http-error.ts';
import { badge, card, emptyState, heading, linkButton, table, writtenName } from '../../platform/web/blocks.ts';
import { type Html, html } from '../../platform/web/html.ts';
import type { Pages } from '../accounts/index.ts';
import type { AppRow } from '../apps/index.ts';
import type { ConnectedCreator, Grants } from '../oauth/index.ts';
import { accessWords as words } from './access-words.ts';
import type { View } from './views.ts';

export interface CreatorsPagesParts {
  readonly pages: Pages;
  readonly grants: Grants;
  readonly viewOf: (request: FastifyRequest, reply: FastifyReply) => View;
  readonly ownedApp: (ownerId: string, clientId: string) => Promise<AppRow>;
}

const pageSize = 25;
const pathOf = ({ id }: Pick<AppRow, 'id'>): string => `/developers/apps/${id}/creators`;

/** A card on the page of the app that links to its creators. */
export function creatorsCard({ lang }: View, app: AppRow): Html {
  const t = words(lang);
  const open = html`<div class="actions">!${linkButton(t('creatorsOpen'), pathOf(app))}</div>`;
  return card({ title: t('creators'), intro: t('creatorsText'), body: open });
}

interface AppRoute {
  Params: { clientId: string };
  /** A repeated parameter is an array. */
  Querystring: { before?: unknown };
}

/** Who has connected the app. It shows what any token of that creator tells the app: the names of GET /v1/me. */
export function creatorsPages(scope: FastifyInstance, { pages, grants, viewOf, ownedApp }: CreatorsPagesParts): void {
  scope.get<AppRoute>('/developers/apps/:clientId/creators', async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const app = await ownedApp(creatorId, request.params.clientId);
    const before = readPosition(request.query.before);
    const found = await grants.connectedCreators(app.id, before, pageSize + 1);
    const shown = found.slice(0, pageSize);
    const next = found.length > pageSize ? (shown.at(-1)?.grant_id ?? null) : null;
    const view = viewOf(request, reply);
    const isFirst = before === null;
    const sandboxes = isFirst ? await grants.connectedSandboxes(creatorId, app.id) : [];
    return pages.show(request, reply, {
      title: words(view.lang)('creators'),
      nav: 'developers',
      body: html`!${creatorsPage(view, app, shown, { next, isFirst })}!${sandboxesCard(view, sandboxes)}`,
    });
  });
}

/** The grant that the page begins after. */
function readPosition(before: unknown): string | null {
  if (before === undefined) return null;
  if (typeof before === 'string' && /^grt_\w{26}$/.test(before)) return before;
  throw validationFailed({ field: 'before', message: 'must be the id of a grant' });
}

function creatorsPage(
  view: View,
  app: AppRow,
  creators: readonly ConnectedCreator[],
  { next, isFirst }: { next: string | null; isFirst: boolean },
): Html {
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

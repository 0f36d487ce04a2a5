import { badge, card, confirm, definitions, emptyState, heading, linkButton } from '../../platform/web/blocks.ts';
import type { Times } from '../../platform/web/format.ts';
import { buttonForm } from '../../platform/web/forms.ts';
import { type Html, html } from '../../platform/web/html.ts';
import type { Lang } from '../../platform/web/i18n.ts';
import { appAbout, appLogo } from '../apps/index.ts';
import { type Connection, knownScopes, scopeList } from '../oauth/index.ts';
import { appsWords } from './words.ts';

function connectionCard(connection: Connection, o: { lang: Lang; csrf: string; times: Times }): Html {
  const t = appsWords(o.lang);
  const { app_name: app, client_id: clientId, owner_username: owner, used_at: usedAt } = connection;
  const marks = [
    connection.by_operator ? badge(t('byOperator'), 'info') : '',
    connection.by_owner ? badge(t('byOwner'), 'info') : '',
    connection.app_suspended_at === null ? '' : badge(t('suspended'), 'warn'),
  ].filter(Boolean);
  const facts: [string, Html][] = [
    [t('owner'), html`${owner === null ? t('operator') : `@${owner}`}`],
    [t('connected'), o.times.time(new Date(connection.created_at), o.lang)],
    [t('used'), usedAt === null ? html`${t('never')}` : o.times.time(new Date(usedAt), o.lang)],
  ];
  const [logo, about] = [appLogo(connection), appAbout(connection, o.lang)];
  const face = logo || about ? html`<div class="app-face">!${logo}!${about}</div>` : '';
  const action = `/dashboard/apps/${clientId}/disconnect`;
  const disconnect = confirm({
    summary: t('disconnect'),
    text: t('disconnectText', { app }),
    action: buttonForm({ action, csrf: o.csrf, label: t('disconnectConfirm'), kind: 'danger' }),
  });
  return card({
    title: app,
    body: html`!${marks.length > 0 ? html`<div class="actions">!${marks}</div>` : ''}
!${face}
<p class="hint">${t('mayDo')}</p>!${scopeList(knownScopes(connection.scope), o.lang, { brief: true })}
!${definitions(facts)}
!${disconnect}`,
  });
}

export function appsView(connections: readonly Connection[], o: Parameters<typeof connectionCard>[1]): Html {
  const t = appsWords(o.lang);
  const cards = connections.map((connection) => connectionCard(connection, o));
  return html`!${heading({ title: t('title'), intro: t('intro') })}
!${cards.length > 0 ? cards : emptyState({ alone: true, title: t('emptyTitle'), text: t('emptyText'), action: linkButton(t('emptyAction'), '/docs') })}`;
}

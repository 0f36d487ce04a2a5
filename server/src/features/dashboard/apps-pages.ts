import type { FastifyInstance } from 'fastify';
import { ApiError } from '../../errors.ts';
import { badge, button, card, definitions, emptyState, heading } from '../../platform/web/blocks.ts';
import type { Times } from '../../platform/web/format.ts';
import { form } from '../../platform/web/forms.ts';
import { type Html, html } from '../../platform/web/html.ts';
import { type Lang, messages } from '../../platform/web/i18n.ts';
import type { Pages } from '../accounts/index.ts';
import { type Connection, type Grants, type LastUsed, parseScopes, scopeList } from '../oauth/index.ts';

export interface ConnectedAppsParts {
  readonly pages: Pages;
  readonly grants: Grants;
  readonly lastUsed: LastUsed;
  readonly times: Times;
}

const words = messages({
  en: {
    title: 'Connected apps',
    intro: 'Apps that you allowed to act for you. Disconnecting one stops it at once.',
    emptyTitle: 'No app is connected',
    emptyText: 'When an app asks to work with your tips, you see here what you allowed it, and can take it back.',
    mayDo: 'It may:',
    connected: 'Connected',
    used: 'Last used',
    never: 'Not yet',
    owner: 'Developer',
    operator: 'Operator of this site',
    byOperator: 'Connected by the operator',
    suspended: 'Suspended',
    disconnect: 'Disconnect',
    done: '{app} is disconnected.',
  },
  th: {
    title: 'แอปที่เชื่อมต่อ',
    intro: 'แอปที่คุณอนุญาตให้ทำงานแทนคุณ เมื่อยกเลิกการเชื่อมต่อ แอปจะหยุดทำงานทันที',
    emptyTitle: 'ยังไม่มีแอปที่เชื่อมต่อ',
    emptyText: 'เมื่อคุณอนุญาตให้แอปใดใช้งานทิปของคุณ คุณจะเห็นสิทธิ์ที่ให้ไว้ที่นี่ และยกเลิกได้ทุกเมื่อ',
    mayDo: 'แอปนี้มีสิทธิ์:',
    connected: 'เชื่อมต่อเมื่อ',
    used: 'ใช้งานล่าสุด',
    never: 'ยังไม่เคยใช้',
    owner: 'ผู้พัฒนา',
    operator: 'ผู้ดูแลเว็บไซต์นี้',
    byOperator: 'เชื่อมต่อโดยผู้ดูแลเว็บไซต์',
    suspended: 'ถูกระงับ',
    disconnect: 'ยกเลิกการเชื่อมต่อ',
    done: 'ยกเลิกการเชื่อมต่อ {app} แล้ว',
  },
});

export function connectedAppPages(
  scope: FastifyInstance,
  { pages, grants, lastUsed, times }: ConnectedAppsParts,
): void {
  scope.get('/dashboard/apps', async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    await lastUsed.flush();
    const [connections, lang] = [await grants.connections(creatorId), pages.lang(request)];
    const t = words(lang);
    const csrf = pages.csrf(request, reply);
    const body = connections.map((connection) => connectionCard(connection, { lang, csrf, times }));
    return pages.show(request, reply, {
      title: t('title'),
      nav: 'apps',
      body: html`!${heading({ title: t('title'), intro: t('intro') })}
!${body.length > 0 ? body : emptyState({ title: t('emptyTitle'), text: t('emptyText') })}`,
    });
  });

  scope.post<{ Params: { clientId: string } }>('/dashboard/apps/:clientId/disconnect', async (request, reply) => {
    const { creatorId } = pages.requireSession(request);
    const { clientId } = request.params;
    const connection = (await grants.connections(creatorId)).find((each) => each.client_id === clientId);
    if (!connection) throw new ApiError('not_found');
    await grants.revoke(creatorId, clientId, 'creator');
    const text = words(pages.lang(request))('done', { app: connection.app_name });
    return pages.redirect(reply, '/dashboard/apps', { tone: 'ok', text });
  });
}

function connectionCard(connection: Connection, o: { lang: Lang; csrf: string; times: Times }): Html {
  const t = words(o.lang);
  const { app_name: app, client_id: clientId, owner_username: owner, used_at: usedAt } = connection;
  const marks = [
    connection.by_operator ? badge(t('byOperator'), 'info') : '',
    connection.app_suspended_at === null ? '' : badge(t('suspended'), 'warn'),
  ].filter(Boolean);
  const facts: [string, Html][] = [
    [t('owner'), html`${owner === null ? t('operator') : `@${owner}`}`],
    [t('connected'), o.times.time(new Date(connection.created_at), o.lang)],
    [t('used'), usedAt === null ? html`${t('never')}` : o.times.time(new Date(usedAt), o.lang)],
  ];
  const disconnect = form({
    action: `/dashboard/apps/${clientId}/disconnect`,
    csrf: o.csrf,
    body: html`<div class="actions">!${button(t('disconnect'), { kind: 'danger' })}</div>`,
  });
  return card({
    title: app,
    body: html`!${marks.length > 0 ? html`<div class="actions">!${marks}</div>` : ''}
<p class="hint">${t('mayDo')}</p>!${scopeList(parseScopes(connection.scope).scopes, o.lang, { brief: true })}
!${definitions(facts)}
!${disconnect}`,
  });
}

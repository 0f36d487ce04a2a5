import { type AuditAction, auditActions } from '../../../audit-actions.ts';
import {
  badge,
  card,
  emptyState,
  heading,
  linkButton,
  notice,
  table,
  written,
  writtenName,
} from '../../../platform/web/blocks.ts';
import { dated, type Times } from '../../../platform/web/format.ts';
import { type Html, html } from '../../../platform/web/html.ts';
import type { Lang } from '../../../platform/web/i18n.ts';
import type { AuditRow } from '../../audit/index.ts';
import { deviceOf } from '../settings/user-agent.ts';
import { activityWords } from './words.ts';

export const activityPath = '/account/activity';

export interface ActivityView {
  readonly lang: Lang;
  readonly times: Times;
  readonly creatorId: string;
  readonly entries: readonly AuditRow[];
  /** The row that the next page begins after. */
  readonly next: string | undefined;
  readonly isFirst: boolean;
}

type Words = ReturnType<typeof activityWords>;

export function activityPage(view: ActivityView): Html {
  const { lang, entries, next, isFirst } = view;
  const t = activityWords(lang);
  const actions = html`<div class="actions">!${linkButton(t('secure'), '/account')}!${linkButton(t('apps'), '/dashboard/apps')}</div>`;
  const top = html`
    !${heading({ title: t('title'), intro: t('intro'), actions: linkButton(t('back'), '/account') })}
    !${notice('info', t('notYou'), html`<p>${t('notYouText')}</p>!${actions}`)}`;
  if (entries.length === 0 && isFirst)
    return html`!${top}!${emptyState({ alone: true, title: t('empty'), text: t('emptyText') })}`;
  const list = table({
    caption: t('title'),
    columns: [{ label: t('what') }, { label: t('when') }, { label: t('who') }, { label: t('where') }],
    rows: entries.map((entry) => [what(t, entry), when(t, view, entry), who(t, view, entry), where(entry)]),
  });
  const paging = html`!${isFirst ? '' : linkButton(t('newest'), activityPath)}!${next ? linkButton(t('older'), `${activityPath}?before=${next}`) : ''}`;
  return html`!${top}!${card({ body: list, actions: paging })}`;
}

const isAction = (text: string): text is AuditAction => Object.hasOwn(auditActions, text);

/** What was done, and the name of what it was done to. */
function what(t: Words, { action, app_name, details }: AuditRow): Html {
  const values: Record<string, unknown> = JSON.parse(details);
  const { name, title, label, now, device } = values;
  const named = [app_name, name, title, label].filter(
    (text): text is string => typeof text === 'string' && text !== '',
  );
  const states = [
    ...(now === 'suspended' || now === 'restored' ? [t(`now_${now}`)] : []),
    ...(device === undefined ? [] : [t('oneDevice')]),
  ].map((text) => html` !${badge(text)}`);
  const names = [...new Set(named)].map((text) => html` !${writtenName(text)}`);
  return html`<div>${isAction(action) ? t(action) : action}!${states}!${names.length > 0 ? html`<br>!${names}` : ''}</div>`;
}

function when(t: Words, { lang, times }: ActivityView, { at, last_at, times: count }: AuditRow): Html {
  const first = times.time(new Date(at), lang);
  if (count === 1) return first;
  const last = times.time(new Date(last_at), lang);
  return html`<div>!${first}<br>!${dated((date) => t('times', { count, date }), last)}</div>`;
}

function who(t: Words, { creatorId }: ActivityView, { actor, actor_app_name }: AuditRow): Html {
  if (actor === creatorId) return html`${t('you')}`;
  if (actor === 'operator' || actor === 'clock' || actor === 'visitor') return html`${t(actor)}`;
  return html`<div>!${written(t('anApp', { name: actor_app_name ?? actor }))}</div>`;
}

function where({ address, details }: AuditRow): Html {
  const { user_agent }: Record<string, unknown> = JSON.parse(details);
  const device = typeof user_agent === 'string' ? deviceOf(user_agent) : '';
  return html`<div>${address ?? '–'}!${device === '' ? '' : html`<br>!${written(device)}`}</div>`;
}

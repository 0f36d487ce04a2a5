import {
  badge,
  button,
  card,
  confirm,
  definitions,
  emptyState,
  heading,
  linkButton,
  notice,
  type Tone,
  table,
  written,
} from '../../platform/web/blocks.ts';
import { oneLine } from '../../platform/web/browser/text.ts';
import { money } from '../../platform/web/format.ts';
import { buttonForm, field, form } from '../../platform/web/forms.ts';
import { type Html, html } from '../../platform/web/html.ts';
import type { ConnectionEventType } from '../events/index.ts';
import type { Delivery, DeliveryStatus } from '../webhooks/index.ts';
import { type DialectName, dialects } from './dialects/index.ts';
import type { Typed, Wrong } from './form.ts';
import { addressCard } from './paste-views.ts';
import { type Connection, canTest, maxLabel, maxToken } from './service.ts';
import { addressOf, home, isSwitchedOff, kindWords, nameOf, pathOf, stateBadge, type View } from './view.ts';
import { connectionWords, type T } from './words.ts';

export function newPage(view: View, kind: DialectName, o: { typed: Typed; wrong: Wrong; tooMany?: string }): Html {
  const t = connectionWords(view.lang);
  const title = t(kindWords[kind].add);
  return html`
!${heading({ title, actions: linkButton(t('back'), home) })}
!${o.tooMany ? notice('error', o.tooMany) : ''}
!${addressCard(view.lang, kind)}
!${card({ body: connectionForm(view, `${home}/new/${kind}`, { ...o, kind, submit: title }, t) })}`;
}

export interface ConnectionView extends View {
  readonly connection: Connection;
  readonly typed: Typed;
  readonly wrong: Wrong;
  readonly deliveries: readonly Delivery[];
  /** The tip that a delivery is about. */
  readonly tips: ReadonlyMap<string, string>;
  /** The id where the next page of deliveries begins. */
  readonly next: string | null;
  readonly isFirst: boolean;
}

export function connectionPage(o: ConnectionView): Html {
  const t = connectionWords(o.lang);
  const { connection } = o;
  const path = pathOf(connection);
  const settings = card({
    title: t('settings'),
    id: 'settings',
    body: connectionForm(o, path, { ...o, kind: connection.kind, submit: t('save'), connection }, t),
  });
  // Another address is what a connection needs that was switched off for good.
  const first = isSwitchedOff(connection) && connection.disabledReason === 'gone';
  return html`
!${heading({ title: nameOf(connection, t), actions: linkButton(t('back'), home) })}
!${state(o, t)}
!${first ? settings : ''}
!${nowCard(o, t)}
!${deliveriesCard(o, t)}
!${first ? '' : settings}
!${card({
    title: t('removeTitle'),
    body: confirm({
      summary: t('remove'),
      text: t('removeText'),
      action: buttonForm({ action: `${path}/remove`, csrf: o.csrf, label: t('removeNow'), kind: 'danger' }),
    }),
  })}`;
}

/** Why nothing is sent, or soon will not be, and what to do. */
function state({ connection, times, lang }: ConnectionView, t: T): Html {
  const { kind, failingSince, disablesAt, enabled, disabledReason } = connection;
  const since = (text: string, at: string, more: Html = '') =>
    notice('warn', text, html`!${times.time(new Date(at), lang)}!${more}`);
  if (enabled && disablesAt) return since(t('disablesAt'), disablesAt);
  if (enabled) return failingSince ? since(t('notArriving'), failingSince, html`<p>${t('notArrivingNext')}</p>`) : '';
  if (!isSwitchedOff(connection)) return notice('info', t('by_owner'));
  if (disabledReason === 'failing') return notice('warn', t('failing'), html`<p>${t('failingNext')}</p>`);
  const { gone, goneNext } = kindWords[kind];
  return notice('warn', t(gone), html`<p>${t(goneNext)}</p>`);
}

function nowCard({ connection, csrf, times, lang }: ConnectionView, t: T): Html {
  const act = (name: 'test' | 'pause' | 'resume', kind: 'primary' | 'plain') =>
    buttonForm({ action: `${pathOf(connection)}/${name}`, csrf, label: t(name), kind });
  const facts: [string, Html][] = [
    [t('status'), stateBadge(connection, t)],
    [t('address'), html`<span class="address" translate="no">${addressOf(connection)}</span>`],
    [t('minAmount'), html`${connection.minAmountMinor > 0 ? money(connection.minAmountMinor) : t('allTips')}`],
    [t('made'), times.time(new Date(connection.createdAt), lang)],
  ];
  const actions = connection.enabled
    ? html`!${canTest(connection.kind) ? act('test', 'primary') : ''}!${act('pause', 'plain')}`
    : act('resume', 'primary');
  return card({ title: t(connection.kind), body: definitions(facts), actions });
}

interface FormView {
  readonly kind: DialectName;
  readonly typed: Typed;
  readonly wrong: Wrong;
  readonly submit: string;
  /** The one that is changed; it keeps its secrets where their fields stay empty. */
  readonly connection?: Connection;
}

function connectionForm(view: View, action: string, { kind, typed, wrong, submit, connection }: FormView, t: T): Html {
  const of = (name: keyof Typed) => ({ name, value: typed[name], error: wrong[name], autocomplete: 'off' as const });
  const { url, urlHint } = kindWords[kind];
  const address = {
    label: t(url),
    hint: connection ? t('urlKeep', { end: connection.addressEnd }) : t(urlHint),
  };
  const token = field({
    ...of('token'),
    label: t('token'),
    hint: connection?.hasVerificationToken ? t('tokenKeep') : t('tokenHint'),
    maxlength: 2 * maxToken,
  });
  return form({
    action,
    csrf: view.csrf,
    key: connection ? undefined : view.key,
    body: html`
!${field({ ...of('url'), type: 'url', ...address, maxlength: 3000, required: !connection })}
!${dialects[kind].hasToken ? token : ''}
<div class="columns">
!${field({ ...of('minAmount'), label: t('minAmount'), hint: t('minAmountHint'), inputmode: 'decimal', maxlength: 16 })}
!${field({ ...of('label'), label: t('label'), hint: t('labelHint', { most: maxLabel }), maxlength: 2 * maxLabel })}
</div>
<div class="actions">!${button(submit)}</div>`,
  });
}

const tones: Readonly<Record<DeliveryStatus, Tone | 'plain'>> = {
  pending: 'info',
  succeeded: 'ok',
  failed: 'error',
  cancelled: 'plain',
  skipped: 'warn',
};

type MessageKind = 'tip' | 'approved' | 'testMessage' | 'voided';

const messageKinds: ReadonlyMap<string, MessageKind> = new Map(
  Object.entries({
    'tip.created': 'tip',
    'alert.approved': 'approved',
    'alert.test': 'testMessage',
    'tip.voided': 'voided',
  } satisfies Record<ConnectionEventType, MessageKind>),
);

function deliveriesCard(o: ConnectionView, t: T): Html {
  const path = pathOf(o.connection);
  const paging = html`<div class="actions">!${o.isFirst ? '' : linkButton(t('newest'), path)}!${o.next ? linkButton(t('older'), `${path}?before=${o.next}`) : ''}</div>`;
  const list =
    o.deliveries.length === 0
      ? emptyState({ title: t('noDeliveries'), text: t('noDeliveriesText') })
      : table({
          caption: t('deliveries'),
          columns: [
            { label: t('what') },
            { label: t('status') },
            { label: t('answer') },
            { label: t('when') },
            { label: t('actions') },
          ],
          rows: o.deliveries.map((delivery) => deliveryCells(o, delivery, t)),
        });
  return card({
    title: t('deliveries'),
    intro: t('deliveriesText'),
    body: html`!${list}!${o.isFirst && !o.next ? '' : paging}`,
    id: 'deliveries',
  });
}

function deliveryCells(o: ConnectionView, delivery: Delivery, t: T): Html[] {
  const what = messageKinds.get(delivery.event_type);
  const words = html`<span class="what">${what ? t(what) : delivery.event_type}</span>`;
  const tipId = o.tips.get(delivery.id);
  // Whoever has put something right need not wait for the next attempt.
  const isRetrying = delivery.status === 'pending' && delivery.attempts.length > 0;
  const again = form({
    action: `${pathOf(o.connection)}/deliveries/${delivery.id}/retry`,
    csrf: o.csrf,
    body: button(t(isRetrying ? 'againNow' : 'again'), { kind: 'plain' }),
  });
  return [
    tipId === undefined ? words : html`<a href="/dashboard/tips/${tipId}">!${words}</a>`,
    isRetrying ? badge(t('retrying'), 'warn') : badge(t(delivery.status), tones[delivery.status]),
    answer(o, delivery, t),
    o.times.time(new Date(delivery.attempts.at(-1)?.at ?? delivery.created_at), o.lang),
    o.connection.enabled && (isRetrying || ['failed', 'skipped'].includes(delivery.status)) ? again : '',
  ];
}

/** What the other side answered last. A long answer is folded away. */
function answer({ times, lang }: ConnectionView, { attempts, next_attempt_at, status }: Delivery, t: T): Html {
  const last = attempts.at(-1);
  if (!last) return html`<span class="hint">${t(status === 'pending' ? 'noAnswerYet' : 'noAttempt')}</span>`;
  const ms = last.duration_ms;
  const code = last.status_code === null ? t('unanswered', { ms }) : t('answered', { status: last.status_code, ms });
  const words = status === 'succeeded' ? null : last.response_body || last.error;
  const more = [
    ...(attempts.length > 1 ? [html`<span class="hint">${t('attempts', { count: attempts.length })}</span>`] : []),
    ...(next_attempt_at && status === 'pending'
      ? [html`<span class="hint">${t('next')} !${times.time(new Date(next_attempt_at), lang)}</span>`]
      : []),
    ...(words ? [html`<code class="answer" translate="no">!${written(words.slice(0, 200), oneLine)}</code>`] : []),
  ];
  return html`<div class="answer-cell"><span>${code}</span>!${more}</div>`;
}

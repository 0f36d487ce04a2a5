import {
  badge,
  button,
  card,
  confirm,
  copyable,
  definitions,
  emptyState,
  heading,
  linkButton,
  notice,
  rows,
  type Tone,
  table,
  webAddress,
  written,
} from '../../platform/web/blocks.ts';
import { buttonForm, checkbox, field, form } from '../../platform/web/forms.ts';
import { type Html, html } from '../../platform/web/html.ts';
import type { AppRow } from '../apps/index.ts';
import { eventTypes, webhookTypes } from '../events/index.ts';
import { type Delivery, type DeliveryStatus, deliveryStatuses, type OwnersWebhook } from '../webhooks/index.ts';
import { traceLink } from './trace-views.ts';
import type { View } from './views.ts';
import { replayCard, type TypedSpan } from './webhook-replay-views.ts';
import { webhookWords as words } from './webhook-words.ts';

/** The fields as typed, with their errors. */
export interface TypedWebhook {
  readonly url: string;
  readonly types: readonly string[];
  readonly description: string;
  readonly errors?: { readonly url?: string; readonly description?: string };
}

export interface DeliveryList {
  readonly deliveries: readonly Delivery[];
  readonly status: DeliveryStatus | null;
  /** The id where the next page begins. */
  readonly next: string | null;
  readonly isFirst: boolean;
}

export const webhooksPath = (app: Pick<AppRow, 'id'>): string => `/developers/apps/${app.id}/webhooks`;

const tones: Readonly<Record<DeliveryStatus, Tone | 'plain'>> = {
  pending: 'info',
  succeeded: 'ok',
  failed: 'error',
  cancelled: 'plain',
  skipped: 'warn',
};

const bodyText = (text: string): Html => html`<pre class="wrapped"><code translate="no">${text}</code></pre>`;

/** A card on the page of the app that links to its webhooks. */
export function webhooksCard(view: View, app: AppRow): Html {
  const t = words(view.lang);
  const open = html`<div class="actions">!${linkButton(t('open'), webhooksPath(app))}</div>`;
  return card({ title: t('title'), intro: t('cardText'), body: open });
}

export function webhookListPage(view: View, app: AppRow, webhooks: readonly OwnersWebhook[]): Html {
  const t = words(view.lang);
  const add = linkButton(t('add'), `${webhooksPath(app)}/new`, 'primary');
  const top = heading({
    title: t('title'),
    intro: t('intro', { app: app.name }),
    actions: html`!${linkButton(t('back', { app: app.name }), `/developers/apps/${app.id}`)}!${webhooks.length > 0 ? add : ''}`,
  });
  if (webhooks.length === 0)
    return html`!${top}!${emptyState({ alone: true, title: t('emptyTitle'), text: t('emptyText'), action: add })}`;
  const list = rows(
    webhooks.map((webhook) => ({
      title: html`<a href="${webhooksPath(app)}/${webhook.id}">!${webhook.url === null ? t('listener') : html`<code>!${webAddress(webhook.url)}</code>`}</a>`,
      text: webhook.description ? written(webhook.description) : html`${webhook.url === null ? t('listenerText') : ''}`,
      aside: stateBadge(view, webhook),
    })),
  );
  return html`!${top}!${card({ body: list })}`;
}

function stateBadge(view: View, webhook: OwnersWebhook): Html {
  const t = words(view.lang);
  if (webhook.kind === 'listener')
    return webhook.listening ? badge(t('listening'), 'ok') : badge(t('listenerClosed'), 'plain');
  if (webhook.enabled)
    return badge(t(webhook.disables_at ? 'failingBadge' : 'enabled'), webhook.disables_at ? 'warn' : 'ok');
  return badge(t('disabled'), webhook.disabled_reason === 'by_owner' ? 'plain' : 'error');
}

export function newWebhookPage(view: View, app: AppRow, typed: TypedWebhook, tooMany?: string): Html {
  const t = words(view.lang);
  return html`!${heading({ title: t('add'), actions: linkButton(t('backToList'), webhooksPath(app)) })}
!${tooMany ? notice('error', tooMany) : ''}
!${card({ body: webhookForm(view, webhooksPath(app), t('add'), typed) })}`;
}

/** `secret` is set only right after it was created: it is shown once. */
export function webhookPage(
  view: View,
  app: AppRow,
  webhook: OwnersWebhook,
  o: {
    typed: TypedWebhook;
    list: DeliveryList;
    span: TypedSpan | undefined;
    /** Of the secret that the form for a new one replaces. */
    secretHash: string;
    secret?: { value: string; text: string; oldUntil?: string };
  },
): Html {
  const t = words(view.lang);
  const path = `${webhooksPath(app)}/${webhook.id}`;
  return html`
!${heading({
    ...(webhook.url === null
      ? { title: t('listener'), intro: t('listenerText') }
      : { title: t('one'), address: webhook.url }),
    actions: linkButton(t('backToList'), webhooksPath(app)),
  })}
!${state(view, webhook)}
!${o.secret ? notice('ok', o.secret.text) : ''}
!${deliveryCard(view, webhook, path, o.list)}
!${replayCard(view, webhook, path, o.span)}
!${webhook.kind === 'listener' ? '' : card({ title: t('details'), body: webhookForm(view, path, t('save'), o.typed) })}
!${secretCard(view, path, o.secretHash, o.secret)}
!${card({
    title: t('remove'),
    body: confirm({
      summary: t('removeOpen'),
      text: t('removeMeans'),
      action: buttonForm({ action: `${path}/delete`, csrf: view.csrf, label: t('removeNow'), kind: 'danger' }),
    }),
  })}`;
}

/** Why the webhook is disabled, or when it will be. */
function state(view: View, webhook: OwnersWebhook): Html {
  const t = words(view.lang);
  if (webhook.kind === 'listener') return notice('info', t(webhook.listening ? 'listeningNow' : 'listenerClosedNow'));
  if (webhook.disables_at)
    return notice('warn', t('disablesAt'), view.times.time(new Date(webhook.disables_at), view.lang));
  if (webhook.disabled_reason === null) return '';
  return notice(webhook.disabled_reason === 'by_owner' ? 'info' : 'warn', t(webhook.disabled_reason));
}

function webhookForm(view: View, action: string, submit: string, typed: TypedWebhook): Html {
  const t = words(view.lang);
  const ticks = webhookTypes.map((type) =>
    checkbox({
      name: `type.${type}`,
      id: `type-${type}`,
      label: type,
      hint: eventTypes[type].label[view.lang],
      checked: typed.types.includes(type),
    }),
  );
  return form({
    action,
    csrf: view.csrf,
    key: view.key,
    body: html`
!${field({
      name: 'url',
      type: 'url',
      label: t('url'),
      hint: t(view.development ? 'urlHintDevelopment' : 'urlHint'),
      value: typed.url,
      required: true,
      maxlength: 3000,
      autocomplete: 'off',
      error: typed.errors?.url,
    })}
<fieldset><legend>${t('types')}</legend><p class="hint">${t('typesHint')}</p>!${ticks}</fieldset>
!${field({
      name: 'description',
      label: t('description'),
      hint: t('descriptionHint'),
      value: typed.description,
      maxlength: 1000,
      autocomplete: 'off',
      error: typed.errors?.description,
    })}
<div class="actions">!${button(submit)}</div>`,
  });
}

function secretCard(view: View, path: string, hash: string, secret?: { value: string; oldUntil?: string }): Html {
  const t = words(view.lang);
  if (secret)
    return card({
      title: t('secret'),
      body: html`!${copyable({ id: 'webhook-secret', label: t('secret'), value: secret.value, copy: t('copy'), copied: t('copied') })}
<p><strong>${t('secretShown')}</strong></p>
!${secret.oldUntil ? html`<p class="hint">${t('oldSecret')} !${view.times.time(new Date(secret.oldUntil), view.lang)}</p>` : ''}`,
    });
  const make = confirm({
    summary: t('newSecret'),
    text: t('newSecretMeans'),
    action: form({
      action: `${path}/secret`,
      csrf: view.csrf,
      body: html`<input type="hidden" name="replaced" value="${hash}">!${button(t('newSecretNow'), { kind: 'danger' })}`,
    }),
  });
  return card({ title: t('secret'), body: html`<p class="hint">${t('secretHint')}</p>!${make}` });
}

function deliveryCard(view: View, webhook: OwnersWebhook, path: string, list: DeliveryList): Html {
  const t = words(view.lang);
  const act = (name: 'ping' | 'enable' | 'disable', kind: 'primary' | 'plain') =>
    buttonForm({ action: `${path}/${name}`, csrf: view.csrf, label: t(name), kind });
  const actions = webhook.enabled
    ? html`!${act('ping', 'primary')}!${webhook.kind === 'listener' ? '' : act('disable', 'plain')}`
    : act('enable', 'primary');
  const filters = html`<p class="actions">!${[null, ...deliveryStatuses].map((status) => {
    const label = t(status ?? 'all');
    if (status === list.status) return html`<strong aria-current="true">${label}</strong>`;
    return html`<a href="${path}${status ? `?status=${status}` : ''}">${label}</a>`;
  })}</p>`;
  const query = (before: string) => new URLSearchParams({ ...(list.status ? { status: list.status } : {}), before });
  const paging = html`<div class="actions">
!${list.isFirst ? '' : linkButton(t('newest'), `${path}${list.status ? `?status=${list.status}` : ''}`)}
!${list.next ? linkButton(t('older'), `${path}?${query(list.next)}`) : ''}</div>`;
  const log =
    list.deliveries.length === 0
      ? emptyState({ title: t('noDeliveries'), text: t('noDeliveriesText') })
      : table({
          caption: t('deliveries'),
          columns: [
            { label: t('event') },
            { label: t('status') },
            { label: t('attempts'), numeric: true },
            { label: t('when') },
          ],
          rows: list.deliveries.map((delivery) => [
            html`<a href="${path}/deliveries/${delivery.id}"><code translate="no">${delivery.event_type}</code></a>`,
            badge(t(delivery.status), tones[delivery.status]),
            html`${delivery.attempts.length}`,
            view.times.time(new Date(delivery.created_at), view.lang),
          ]),
        });
  return card({
    title: t('deliveries'),
    intro: t('deliveriesIntro'),
    body: html`<div class="actions">!${actions}</div>!${filters}!${log}!${paging}`,
  });
}

export function deliveryPage(
  view: View,
  path: string,
  { delivery, body }: { delivery: Delivery; body: string | null },
): Html {
  const t = words(view.lang);
  const time = (at: string) => view.times.time(new Date(at), view.lang);
  const facts: [string, Html][] = [
    [t('status'), badge(t(delivery.status), tones[delivery.status])],
    [t('eventId'), html`<code translate="no">${delivery.event_id}</code>`],
    [t('when'), time(delivery.created_at)],
  ];
  if (delivery.next_attempt_at) facts.push([t('nextAttempt'), time(delivery.next_attempt_at)]);
  const action = `${path}/deliveries/${delivery.id}/retry`;
  const retry = buttonForm({ action, csrf: view.csrf, label: t('retry'), kind: 'plain' });
  return html`
!${heading({ title: delivery.event_type, actions: linkButton(t('backToWebhook'), path) })}
!${card({ body: definitions(facts), actions: html`!${delivery.status === 'cancelled' ? '' : retry}!${traceLink(view, path.slice(0, path.indexOf('/webhooks')), delivery)}` })}
!${card({ title: t('request'), body: body === null ? html`<p class="hint">${t('hidden')}</p>` : bodyText(pretty(body)) })}
!${card({ title: t('eachAttempt'), body: attemptsList(view, delivery) })}`;
}

function attemptsList(view: View, { attempts }: Delivery): Html {
  const t = words(view.lang);
  if (attempts.length === 0) return html`<p class="hint">${t('noAttempts')}</p>`;
  return html`!${attempts.map((attempt, index) => {
    const ms = attempt.duration_ms;
    const outcome =
      attempt.status_code === null ? t('unanswered', { ms }) : t('answered', { status: attempt.status_code, ms });
    return html`<section>
<h3>${t('attempt', { n: index + 1 })}</h3>
<p>!${view.times.time(new Date(attempt.at), view.lang)} · ${outcome}</p>
!${attempt.error && attempt.status_code === null ? html`<p class="hint" translate="no">!${written(attempt.error)}</p>` : ''}
!${attempt.response_body ? bodyText(attempt.response_body) : attempt.status_code === null ? '' : html`<p class="hint">${t('emptyAnswer')}</p>`}
</section>`;
  })}`;
}

/** Indented for reading. The body was sent without spaces. */
const pretty = (body: string): string => JSON.stringify(JSON.parse(body), null, 2);

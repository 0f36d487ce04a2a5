import type { ErrorDetail } from '../../../platform/http/http-error.ts';
import {
  badge,
  button,
  card,
  emptyState,
  fold,
  linkButton,
  notice,
  type Tone,
  writtenName,
} from '../../../platform/web/blocks.ts';
import { money, type Times } from '../../../platform/web/format.ts';
import { field, form, select, textArea } from '../../../platform/web/forms.ts';
import { type Html, html } from '../../../platform/web/html.ts';
import type { Lang } from '../../../platform/web/i18n.ts';
import type { AnyEventType } from '../../events/index.ts';
import type { DeliveryStatus } from '../../webhooks/index.ts';
import type { EventDelivery, OverlayState, Report, ReportedEvent } from './report.ts';
import { type ConsoleT, consoleWords } from './words.ts';

/** The fields as typed. */
export interface TypedEvent {
  readonly type: string;
  readonly amount: string;
  readonly name: string;
  readonly display_name: string;
  readonly message: string;
}

const emptyEvent: TypedEvent = {
  type: 'tip.created',
  amount: '100',
  name: 'SOMCHAI',
  display_name: '',
  message: '',
};

export interface ConsoleView {
  readonly lang: Lang;
  readonly csrf: string;
  readonly times: Times;
  /** The page of the sandbox creator. */
  readonly path: string;
  readonly tipCapMinor: number;
  readonly report: Report;
  readonly appNames: ReadonlyMap<string, string>;
  /** Connections of other nodes are not known here. */
  readonly manyNodes: boolean;
  readonly typed?: TypedEvent | undefined;
  readonly json?: string | undefined;
  readonly wrong?: readonly ErrorDetail[] | undefined;
}

export function consoleView(view: ConsoleView): Html {
  const t = consoleWords(view.lang);
  return html`
!${card({ title: t('title'), intro: t('intro'), id: 'console', body: html`!${eventForm(view, t)}!${jsonForm(view, t)}` })}
<div data-console="${view.path}/happened">!${happenedCard(view)}</div>`;
}

const errorWords = {
  amount: 'amountError',
  name: 'nameError',
  display_name: 'displayNameError',
  message: 'messageError',
} as const;

function eventForm({ csrf, path, typed = emptyEvent, json, wrong = [], tipCapMinor }: ConsoleView, t: ConsoleT): Html {
  const broken = new Set(json === undefined ? wrong.map((detail) => detail.field) : []);
  const of = (name: keyof typeof errorWords) => ({
    name,
    value: typed[name],
    error: !broken.has(name)
      ? undefined
      : name === 'amount'
        ? t('amountError', { cap: money(tipCapMinor) })
        : t(errorWords[name]),
  });
  const options = [
    ['tip.created', t('tipCreated')],
    ['alert.test', t('alertTest')],
    ['goal.reached', t('goalReached')],
  ] satisfies [AnyEventType, string][];
  return form({
    action: `${path}/send`,
    csrf,
    body: html`
!${select({ name: 'type', label: t('type'), options, value: typed.type })}
<div class="columns">
  !${field({ ...of('amount'), label: t('amount'), inputmode: 'decimal', maxlength: 14 })}
  !${field({ ...of('name'), label: t('name'), maxlength: 60, autocomplete: 'off' })}
  !${field({ ...of('display_name'), label: t('displayName'), maxlength: 90, autocomplete: 'off' })}
</div>
!${textArea({ ...of('message'), label: t('message'), rows: 2, maxlength: 600 })}
<div class="actions">!${button(t('send'))}</div>`,
  });
}

const jsonExample =
  '{"type": "tip.created", "amount": 99.5, "name": "SOMCHAI", "display_name": "สมชาย", "message": "สู้ ๆ"}';

function jsonForm({ csrf, path, json, wrong = [] }: ConsoleView, t: ConsoleT): Html {
  const problems = html`<ul>!${wrong.map(({ field, message }) => html`<li>!${field === null ? t('whole') : html`<code translate="no">${field}</code>`} ${message}</li>`)}</ul>`;
  return fold({
    summary: t('asJson'),
    open: json !== undefined,
    body: html`!${json !== undefined && wrong.length > 0 ? notice('error', t('jsonWrong'), problems) : ''}!${form({
      action: `${path}/send`,
      csrf,
      body: html`!${textArea({ name: 'json', label: t('json'), hint: t('jsonHint'), value: json ?? jsonExample, rows: 4 })}
<div class="actions">!${button(t('send'))}!${linkButton(t('guide'), '/docs/sandbox')}</div>`,
    })}`,
  });
}

/** Fetched anew by the script of the page. */
export function happenedCard(view: ConsoleView): Html {
  const t = consoleWords(view.lang);
  const { report } = view;
  const list =
    report.events.length === 0
      ? emptyState({ title: t('noEvents'), text: t('noEventsText') })
      : html`<ul class="rows">!${report.events.map((event) => eventRow(view, t, event))}</ul>`;
  return card({
    title: t('happened'),
    intro: t('happenedIntro'),
    id: 'happened',
    body: html`!${openNow(view, t)}!${list}`,
  });
}

function openNow({ report, appNames, manyNodes }: ConsoleView, t: ConsoleT): Html {
  const { overlays, connections, paused, hidden } = report;
  const open = connections.map(({ clientId, kind, upTo }) =>
    badge(
      t(kind === 'stream' ? 'streamOpen' : 'socketOpen', { app: appNames.get(clientId) ?? clientId, sequence: upTo }),
      'ok',
    ),
  );
  return html`<p class="actions">!${[
    overlays > 0 ? badge(t('overlaysOpen', { count: overlays }), 'ok') : badge(t('noOverlay'), 'warn'),
    ...(paused ? [badge(t('pausedNow'), 'warn')] : []),
    ...(hidden ? [badge(t('hiddenNow'), 'warn')] : []),
    ...(open.length > 0 ? open : [badge(t('noConnection'))]),
  ]}</p>!${manyNodes ? html`<p class="hint">${t('thisNode')}</p>` : ''}`;
}

function eventRow(view: ConsoleView, t: ConsoleT, event: ReportedEvent): Html {
  const { csrf, path, times, lang } = view;
  const about = event.about && html` !${writtenName(event.about.name)} ${money(event.about.amountMinor)}`;
  const actions = event.next.map(({ name, request }) =>
    form({
      action: `${path}/send`,
      csrf,
      body: html`<input type="hidden" name="json" value="${JSON.stringify(request)}">!${button(t(name), { kind: 'plain' })}`,
    }),
  );
  return html`<li>
<div><strong><code translate="no">${event.type}</code>!${about ?? ''}!${event.note === null ? '' : html` !${writtenName(event.note)}`}</strong>
<p>${t('sequence', { sequence: event.sequence })} · !${times.exact(new Date(event.createdAt), lang)}</p>
<dl class="definitions">!${receivers(view, t, event).map(([term, value]) => html`<div><dt>${term}</dt><dd>!${value}</dd></div>`)}</dl>
<p><a href="${path}/trace/${event.id}">${t('trace')}</a></p>
<details data-key="${event.id}"><summary>${t('body')}</summary><pre class="wrapped"><code translate="no">${JSON.stringify(JSON.parse(event.body), null, 2)}</code></pre></details></div>
!${actions.length > 0 ? html`<div class="actions">!${actions}</div>` : ''}</li>`;
}

function receivers(view: ConsoleView, t: ConsoleT, event: ReportedEvent): [string, Html][] {
  return [
    ...(event.overlay ? [[t('overlay'), overlayWords(view, t, event.overlay)] satisfies [string, Html]] : []),
    [t('sockets'), reachedWords(view, t, event)],
    [
      t('webhooks'),
      event.deliveries.length === 0
        ? html`${t(event.dispatched ? 'noDelivery' : 'notDispatched')}`
        : html`!${event.deliveries.map((delivery) => deliveryWords(view, t, delivery))}`,
    ],
  ];
}

function overlayWords({ report, times, lang }: ConsoleView, t: ConsoleT, { state, at, reason }: OverlayState): Html {
  if (state === 'shown') return html`!${badge(t('shown'), 'ok')} !${at ? times.exact(new Date(at), lang) : ''}`;
  if (state === 'skipped') return badge(t('skipped', { reason: reason ?? '' }), 'warn');
  if (state !== 'waiting') return badge(t(state), state === 'unplayed' || state === 'approved' ? 'plain' : 'warn');
  const why = [
    ...(report.overlays === 0 ? (['waitingNoOverlay'] as const) : []),
    ...(report.hidden ? (['waitingHidden'] as const) : report.paused ? (['waitingPaused'] as const) : []),
  ];
  return why.length === 0
    ? badge(t('waiting'), 'info')
    : html`!${why.map((each) => html`!${badge(t(each), 'warn')} `)}`;
}

function reachedWords({ report, appNames }: ConsoleView, t: ConsoleT, { reached }: ReportedEvent): Html {
  if (reached.length === 0) return html`${t('reachedNone')}`;
  const apps = [...new Set(reached.map(({ clientId }) => clientId))];
  const countOf = (list: Report['connections'], app: string) => list.filter(({ clientId }) => clientId === app).length;
  return html`!${apps.map((app) =>
    badge(
      t('reachedBy', {
        app: appNames.get(app) ?? app,
        count: countOf(reached, app),
        open: countOf(report.connections, app),
      }),
      'ok',
    ),
  )}`;
}

const tones: Readonly<Record<DeliveryStatus, Tone | 'plain'>> = {
  pending: 'info',
  succeeded: 'ok',
  failed: 'error',
  cancelled: 'plain',
  skipped: 'warn',
};

function deliveryWords({ times, lang }: ConsoleView, t: ConsoleT, delivery: EventDelivery): Html {
  const { clientId, webhookId, id, status, attempts, earlierAttempts, nextAttemptAt } = delivery;
  const made = attempts.map(({ status_code, error, duration_ms }, index) => {
    const result = error ?? status_code ?? '';
    return html`<li>${t('attempt', { count: earlierAttempts + index + 1, result, ms: duration_ms })}</li>`;
  });
  const next =
    status === 'pending' && attempts.length > 0 && nextAttemptAt !== null
      ? html`<li>${t('next')} !${times.exact(new Date(nextAttemptAt), lang)}</li>`
      : '';
  return html`<div><a href="/developers/apps/${clientId}/webhooks/${webhookId}/deliveries/${id}">!${writtenName(delivery.appName)}!${delivery.url === null ? html` (${t('listener')})` : html` <span class="address">${delivery.url}</span>`}</a>
!${badge(t(status === 'skipped' ? 'skippedDelivery' : status), tones[status])}
!${attempts.length === 0 && status === 'pending' ? html`<span class="hint">${t('noAttempt')}</span>` : html`<ul>!${made}!${next}</ul>`}</div>`;
}

import {
  badge,
  button,
  card,
  confirm,
  definitions,
  heading,
  linkButton,
  rows,
  type Tone,
  written,
  writtenName,
} from '../../platform/web/blocks.ts';
import { withinSentence } from '../../platform/web/browser/text.ts';
import { money, type Times } from '../../platform/web/format.ts';
import { buttonForm, field, form } from '../../platform/web/forms.ts';
import { type Html, html } from '../../platform/web/html.ts';
import type { Lang } from '../../platform/web/i18n.ts';
import type { SkipReason } from '../events/index.ts';
import type { Tip } from '../tips/index.ts';
import type { TraceStep } from './tip-trace.ts';
import { type TipT, tipWords } from './tip-words.ts';
import { sourceName, tipPath, tipsHome } from './tips-views.ts';
import { dashboardWords } from './words.ts';

export interface TipView {
  readonly lang: Lang;
  readonly csrf: string;
  readonly times: Times;
  readonly tip: Tip;
  readonly steps: readonly TraceStep[];
  readonly replayable: boolean;
  /** What was typed as the reason of a void, if it was refused. */
  readonly typed: { readonly reason: string; readonly wrong: string } | undefined;
}

const tones: Record<Tip['alert']['status'], Tone | 'plain'> = {
  held: 'warn',
  queued: 'info',
  shown: 'ok',
  skipped: 'plain',
  expired: 'warn',
};

/** A tip with what happened to it, and what can be done with it. */
export function tipView(o: TipView): Html {
  const { tip } = o;
  const t = tipWords(o.lang);
  const replay = buttonForm({ action: `${tipPath(tip.id)}/replay`, csrf: o.csrf, label: t('replay') });
  const decide = tip.alert.status === 'held' ? linkButton(t('decide'), '/dashboard/live', 'primary') : '';
  const actions = html`!${linkButton(t('back'), tipsHome)}!${decide}!${o.replayable ? replay : ''}`;
  return html`
!${heading({ title: t('title', { amount: money(tip.amount_minor) }), actions })}
!${card({ title: t('tip'), body: definitions(facts(o, t)), ...(tip.status === 'voided' ? {} : { actions: voidForm(o, t) }) })}
!${card({ title: t('history'), body: rows(o.steps.map((step) => stepRow(step, o, t))) })}`;
}

function facts({ tip, lang, times }: TipView, t: TipT): [string, Html][] {
  const { display_name: displayName, message, status, alert } = tip;
  return [
    [t('from'), writtenName(displayName, tip.name)],
    ...(displayName === null ? [] : [[t('name'), writtenName(tip.name)] satisfies [string, Html]]),
    [t('amount'), html`${money(tip.amount_minor)}`],
    [t('message'), message ? written(message) : html`${t('noMessage')}`],
    ...screened(tip, t),
    [t('when'), times.time(new Date(tip.created_at), lang)],
    [t('recordedBy'), sourceName(tip, dashboardWords(lang))],
    [t('counts'), status === 'voided' ? badge(t('no'), 'warn') : badge(t('yes'), 'ok')],
    [t('alert'), badge(t(alert.status), tones[alert.status])],
  ];
}

/** What screening lets the public see, where it is not what was sent. */
function screened({ name, display_name: displayName, message, alert }: Tip, t: TipT): [string, Html][] {
  const rows: [string, Html][] = [];
  if (alert.name !== (displayName ?? name)) rows.push([t('shownName'), writtenName(alert.name)]);
  if (message && alert.message !== message)
    rows.push([t('shownMessage'), alert.message === null ? badge(t('hiddenMessage'), 'warn') : written(alert.message)]);
  return rows;
}

function voidForm({ tip, csrf, typed }: TipView, t: TipT): Html {
  const reason = field({
    name: 'reason',
    label: t('voidReason'),
    hint: t('voidReasonHint'),
    value: typed?.reason,
    error: typed?.wrong,
    maxlength: 255,
    autocomplete: 'off',
  });
  const submit = html`!${reason}<div class="actions">!${button(t('voidConfirm'), { kind: 'danger' })}</div>`;
  return confirm({
    summary: t('void'),
    text: t('voidText'),
    action: form({ action: `${tipPath(tip.id)}/void`, csrf, body: submit }),
    open: typed !== undefined,
  });
}

const reasons = {
  by_creator: 'becauseByCreator',
  below_minimum: 'becauseBelowMinimum',
  rejected: 'becauseRejected',
  held_too_long: 'becauseHeldTooLong',
  voided: 'becauseVoided',
  blocked: 'becauseBlocked',
} as const satisfies Record<SkipReason | 'blocked', string>;

const webhookTitles = {
  pending: 'webhookPending',
  succeeded: 'webhookSucceeded',
  failed: 'webhookFailed',
  cancelled: 'webhookCancelled',
  skipped: 'webhookSkipped',
} as const;

function stepRow(step: TraceStep, { lang, times }: TipView, t: TipT): { title: Html; text?: Html; aside: Html } {
  const aside = times.time(new Date(step.at), lang);
  switch (step.kind) {
    case 'recorded':
      return { title: html`${t('stepRecorded')}`, aside };
    case 'event':
      return { title: html`${t('stepEvent', { sequence: String(step.detail.sequence) })}`, aside };
    case 'held':
      return { title: html`${t('stepHeld')}`, aside };
    case 'approved':
      return { title: html`${t('stepApproved')}`, aside };
    case 'overlay': {
      const because = step.detail.reason && reasons[step.detail.reason];
      const title = html`${t(step.outcome === 'shown' ? 'stepShown' : 'stepSkipped')}`;
      return because ? { title, text: html`${t(because)}`, aside } : { title, aside };
    }
    case 'webhook': {
      const { appName, attempts } = step.detail;
      const title = html`<span class="written">${t(webhookTitles[step.outcome], { app: withinSentence(appName) })}</span>`;
      const count = attempts === 1 ? t('oneAttempt') : t('attempts', { count: String(attempts) });
      return attempts === 0 ? { title, aside } : { title, text: html`${count}`, aside };
    }
    case 'voided': {
      const title = html`${t('stepVoided')}`;
      const { reason } = step.detail;
      const text = reason ? written(t('reasonGiven', { reason: withinSentence(reason) })) : undefined;
      return text ? { title, text, aside } : { title, aside };
    }
  }
}

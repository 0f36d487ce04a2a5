import {
  badge,
  button,
  card,
  confirm,
  definitions,
  heading,
  linkButton,
  type Tone,
  written,
  writtenName,
} from '../../platform/web/blocks.ts';
import { money, type Times } from '../../platform/web/format.ts';
import { buttonForm, field, form } from '../../platform/web/forms.ts';
import { type Html, html } from '../../platform/web/html.ts';
import type { Lang } from '../../platform/web/i18n.ts';
import { maxVoidReason, type Tip } from '../tips/index.ts';
import { type TraceView, traceVerdict, traceView } from '../trace/index.ts';
import { erasePath } from './erase-views.ts';
import { eraseWords } from './erase-words.ts';
import { tipPath, tipsHome } from './tip-paths.ts';
import { type TipT, tipWords } from './tip-words.ts';
import { sourceName } from './tips-views.ts';
import { dashboardWords } from './words.ts';

export interface TipView {
  readonly lang: Lang;
  readonly csrf: string;
  readonly times: Times;
  readonly tip: Tip;
  readonly trace: TraceView;
  readonly replayable: boolean;
  readonly erased: boolean;
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
export async function tipView(o: TipView, pause: () => Promise<void>): Promise<Html> {
  const { tip } = o;
  const t = tipWords(o.lang);
  const replay = buttonForm({ action: `${tipPath(tip.id)}/replay`, csrf: o.csrf, label: t('replay') });
  const next = nextStep(o.trace, t);
  const actions = html`!${linkButton(t('back'), tipsHome)}!${next}!${o.replayable ? replay : ''}`;
  const voiding = tip.status === 'voided' ? '' : voidForm(o, t);
  const erasing = o.erased ? '' : linkButton(eraseWords(o.lang)('erase'), erasePath(tip.id));
  const shown = { view: o.trace, lang: o.lang, times: o.times };
  const happened = await traceView(shown, pause);
  return html`
!${heading({ title: t('title', { amount: money(tip.amount_minor) }), actions })}
!${traceVerdict(shown)}
!${card({ title: t('tip'), body: definitions(facts(o, t)), actions: html`!${voiding}!${erasing}` })}
!${happened}`;
}

/** Where the creator can do what the alert waits for, or change what kept it from the screen. */
function nextStep({ missing, steps }: TraceView, t: TipT): Html {
  const outcome = steps.find((step) => step.kind === 'overlay');
  switch (missing.find(({ kind }) => kind === 'overlay')?.reason ?? outcome?.detail.reason) {
    case 'too_small':
    case 'below_minimum':
      return linkButton(t('changeMinimum'), '/dashboard/overlay#overlay-settings');
    case 'blocked':
      return linkButton(t('changeBlocked'), '/dashboard/screening#names');
    case 'held':
      return linkButton(t('decide'), '/dashboard/live', 'primary');
    case 'paused':
    case 'hidden':
      return linkButton(t('goOn'), '/dashboard/live', 'primary');
    case 'no_overlay':
      return linkButton(t('openOverlay'), '/dashboard/overlay');
    default:
      return '';
  }
}

function facts({ tip, lang, times, erased }: TipView, t: TipT): [string, Html][] {
  const { display_name: displayName, message, status, alert } = tip;
  return [
    [t('from'), writtenName(displayName, tip.name)],
    ...(displayName === null ? [] : [[t('name'), writtenName(tip.name)] satisfies [string, Html]]),
    [t('amount'), html`${money(tip.amount_minor)}`],
    [t('message'), erased ? badge(eraseWords(lang)('erased')) : message ? written(message) : html`${t('noMessage')}`],
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
    maxlength: maxVoidReason,
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

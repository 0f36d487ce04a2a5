import {
  badge,
  button,
  card,
  definitions,
  emptyState,
  fold,
  heading,
  linkButton,
  notice,
  rows,
  stats,
  writtenName,
} from '../../../platform/web/blocks.ts';
import type { Times } from '../../../platform/web/format.ts';
import { buttonForm, field, form, select } from '../../../platform/web/forms.ts';
import { type Html, html } from '../../../platform/web/html.ts';
import type { Lang } from '../../../platform/web/i18n.ts';
import type { AppRow } from '../../apps/index.ts';
import { pathOf } from '../paths.ts';
import { chaosKinds, fullShare, noShares, type Shares } from './decide.ts';
import type { ChaosRow, FaultRow, Pair } from './repo.ts';
import type { ChaosReport } from './report.ts';
import { faultsCard, reportCard } from './report-views.ts';
import { type RunName, runNames } from './runs.ts';
import type { ChaosProblem } from './service.ts';
import { type ChaosT, chaosWords } from './words.ts';

export interface View {
  readonly lang: Lang;
  readonly csrf: string;
  readonly times: Times;
}

export interface Named {
  readonly id: string;
  readonly display_name: string;
}

export const mostShown = 100;

export const chaosPath = ({ creatorId, clientId }: Pair): string => `${pathOf({ id: creatorId })}/chaos/${clientId}`;

/** A form that was refused. Without `run` it is the one of the shares. */
export interface Typed {
  readonly seed: string;
  readonly run?: RunName;
  readonly percents?: Readonly<Record<string, string>>;
  readonly problem: ChaosProblem;
}

/** Percent with at most one decimal, as thousandths. Anything else is no share. */
export function readPercent(text: string): number {
  if (text === '') return 0;
  return /^\d{1,3}([.,]\d)?$/.test(text) ? Math.round(Number(text.replace(',', '.')) * 10) : Number.NaN;
}

export function choicePage(view: View, creator: Named, apps: readonly AppRow[], on: ReadonlySet<string>): Html {
  const t = chaosWords(view.lang);
  const back = linkButton(t('back', { name: creator.display_name }), pathOf(creator));
  const top = heading({ title: t('chooseTitle'), intro: t('intro'), actions: back });
  if (apps.length === 0) {
    const action = linkButton(t('register'), '/developers/apps/new', 'primary');
    return html`!${top}!${emptyState({ alone: true, title: t('noApps'), text: t('noAppsText'), action })}`;
  }
  const list = rows(
    apps.map((app) => {
      const path = chaosPath({ creatorId: creator.id, clientId: app.id });
      return {
        title: html`<a href="${path}">!${writtenName(app.name)}</a>`,
        text: on.has(app.id) ? badge(t('on'), 'warn') : badge(t('off')),
        aside: linkButton(t('open'), path),
      };
    }),
  );
  return html`!${top}!${card({ intro: t('chooseText'), body: list })}`;
}

export interface ChaosPage {
  readonly creator: Named;
  readonly app: AppRow;
  readonly connected: boolean;
  readonly settings: ChaosRow | undefined;
  readonly report: ChaosReport | undefined;
  readonly faults: readonly FaultRow[];
  readonly typed: Typed | undefined;
}

export async function chaosPage(view: View, o: ChaosPage, pause: () => Promise<void>): Promise<Html> {
  const t = chaosWords(view.lang);
  const back = linkButton(t('back', { name: o.creator.display_name }), pathOf(o.creator));
  const faults = await faultsCard(view, o.faults, pause);
  await pause();
  return html`
!${heading({ title: t('title', { app: o.app.name }), intro: t('intro'), actions: back })}
!${o.connected ? '' : notice('warn', t('notConnected'))}
!${stateCard(view, o)}
!${o.report ? reportCard(view, o.report) : ''}
!${runsCard(view, o)}
!${sharesCard(view, o)}
!${faults}`;
}

const pairOf = ({ creator, app }: ChaosPage): Pair => ({ creatorId: creator.id, clientId: app.id });

function stateCard(view: View, o: ChaosPage): Html {
  const { lang, csrf, times } = view;
  const t = chaosWords(lang);
  const { settings } = o;
  const guide = html`<p>${t('headerNote')} <a href="/docs/chaos">${t('guide')}</a></p>`;
  if (!settings) return card({ title: t('state'), body: html`<p>!${badge(t('off'))} ${t('isOff')}</p>!${guide}` });
  const on = settings.enabled === 1;
  const at = settings.stopped_at ?? settings.started_at;
  const body = html`
<p>!${badge(on ? t('on') : t('off'), on ? 'warn' : 'plain')} ${on ? t('isOn') : t('isOff')}</p>
!${settings.revoked_at === null ? '' : notice('warn', t('revokedNow'))}
!${definitions([
    [t('run'), html`${settings.run === null ? t('ownShares') : t(settings.run)}`],
    [t('seed'), html`<code translate="no">${settings.seed}</code>`],
    [settings.stopped_at === null ? t('started') : t('stopped'), times.time(new Date(at), lang)],
  ])}
!${stats([
    { label: t('calls'), value: String(settings.calls) },
    { label: t('frames'), value: String(settings.frames) },
    { label: t('deliveries'), value: String(settings.deliveries) },
  ])}
!${guide}`;
  const stop = buttonForm({ action: `${chaosPath(pairOf(o))}/stop`, csrf, label: t('stop'), kind: 'danger' });
  return card({ title: t('state'), body, actions: on ? stop : '' });
}

const seedOf = ({ settings, typed }: ChaosPage): string => typed?.seed ?? settings?.seed ?? 'namjai-1';

function seedField(t: ChaosT, o: ChaosPage, id: string, ofThisForm: boolean): Html {
  const error = ofThisForm && o.typed?.problem === 'seed' ? t('seedError') : undefined;
  return field({
    name: 'seed',
    id,
    label: t('seed'),
    value: seedOf(o),
    maxlength: 64,
    autocomplete: 'off',
    hint: t('seedHint'),
    error,
  });
}

function runsCard({ lang, csrf }: View, o: ChaosPage): Html {
  const t = chaosWords(lang);
  const list = rows(
    runNames.map((name) => ({
      title: html`${t(name)}`,
      text: html`${t(`${name}Text`)} <strong>${t('goodApp')}</strong> ${t(`${name}Good`)}`,
    })),
  );
  const chosen = o.typed?.run ?? o.settings?.run ?? 'bad_evening';
  const start = form({
    action: `${chaosPath(pairOf(o))}/start`,
    csrf,
    body: html`
!${select({ name: 'run', label: t('run'), value: chosen, options: runNames.map((name) => [name, t(name)]) })}
!${seedField(t, o, 'field-run-seed', o.typed?.run !== undefined)}
<div class="actions">!${button(t('start'))}</div>`,
  });
  return card({ title: t('runs'), intro: t('runsIntro'), body: html`!${list}!${start}` });
}

function sharesCard({ lang, csrf }: View, o: ChaosPage): Html {
  const t = chaosWords(lang);
  const refused = o.typed !== undefined && o.typed.run === undefined;
  const shares: Shares = o.settings ? JSON.parse(o.settings.shares) : noShares;
  const wrong = refused && o.typed?.problem === 'shares';
  const fields = chaosKinds.map((kind) => {
    const value = (refused ? o.typed?.percents?.[kind] : undefined) ?? String((shares[kind] * 100) / fullShare);
    const error = wrong && Number.isNaN(readPercent(value)) ? t('sharesError') : undefined;
    return field({
      name: `share.${kind}`,
      label: t('percent', { kind }),
      value,
      inputmode: 'decimal',
      maxlength: 5,
      autocomplete: 'off',
      hint: t(kind),
      error,
    });
  });
  const body = form({
    action: chaosPath(pairOf(o)),
    csrf,
    body: html`
!${wrong ? notice('error', t('sharesError')) : ''}
!${seedField(t, o, 'field-own-seed', refused)}
!${fields}
<div class="actions">!${button(t('save'))}</div>`,
  });
  const folded = fold({ summary: t('customOpen'), body, open: refused });
  return card({ title: t('custom'), intro: t('customIntro'), body: folded });
}

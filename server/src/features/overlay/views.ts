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
  type Tone,
  table,
  writtenName,
} from '../../platform/web/blocks.ts';
import { money, type Times } from '../../platform/web/format.ts';
import { form } from '../../platform/web/forms.ts';
import { attributes, type Html, html } from '../../platform/web/html.ts';
import type { Lang } from '../../platform/web/i18n.ts';
import type { AlertStatus } from '../tips/index.ts';
import type { RecentAlert } from './alert-lists.ts';
import type { Overlay } from './service.ts';
import type { Typed, Wrong } from './settings-form.ts';
import { settingFields } from './settings-views.ts';
import { widgetsCard } from './widget-views.ts';
import { overlayWords } from './words.ts';

export interface OverlayView {
  readonly lang: Lang;
  readonly csrf: string;
  readonly times: Times;
  readonly overlay: Overlay;
  readonly connected: number;
  /** How many of them run a page from before an upgrade. */
  readonly outdated: number;
  readonly recent: readonly RecentAlert[];
  readonly hasDraft: boolean;
  /** The languages that the overlay's browser can read aloud; `null` if it has not said. */
  readonly voices: readonly string[] | null;
  readonly typed: Typed;
  readonly wrong: Wrong;
  /** Set only right after the creator asked to see the address. */
  readonly address: string | undefined;
}

export type NowView = Pick<OverlayView, 'lang' | 'csrf' | 'times' | 'overlay' | 'connected' | 'outdated'>;

type T = ReturnType<typeof overlayWords>;

export const home = '/dashboard/overlay';
const tones: Record<AlertStatus, Tone | 'plain'> = {
  held: 'warn',
  queued: 'info',
  shown: 'ok',
  skipped: 'plain',
  expired: 'warn',
};

export function overlayView(o: OverlayView): Html {
  const t = overlayWords(o.lang);
  return html`
!${heading({ title: t('title'), intro: t('intro'), actions: html`!${linkButton(t('guide'), '/docs/overlay')}!${post(o, 'test', button(t('test')))}` })}
<div data-now>!${nowCard(o)}</div>
!${addressCard(o, t)}
!${widgetsCard({ lang: o.lang, address: o.address, copy: t('copy'), copied: t('copied') })}
!${lookCard(o, t)}
!${generalCard(o, t)}
!${card({ title: t('recent'), body: o.recent.length > 0 ? recentTable(o, t) : emptyState({ title: t('emptyTitle'), text: t('emptyText') }) })}`;
}

const post = ({ csrf }: Pick<OverlayView, 'csrf'>, path: string, body: Html): Html =>
  form({ action: `${home}/${path}`, csrf, body });

/** Whether an overlay is open, and what it does. A script fetches this card again from time to time. */
export function nowCard(o: NowView): Html {
  const t = overlayWords(o.lang);
  const { paused, lastAckAt } = o.overlay;
  const facts: [string, Html][] = [
    [t('connected'), o.connected > 0 ? badge(String(o.connected), 'ok') : html`${t('noneConnected')}`],
    [t('lastAck'), lastAckAt === null ? html`${t('never')}` : o.times.time(new Date(lastAckAt), o.lang)],
    [t('state'), paused ? badge(t('paused'), 'warn') : badge(t('running'), 'ok')],
  ];
  const toggle = paused
    ? post(o, 'resume', button(t('resume')))
    : post(o, 'pause', button(t('pause'), { kind: 'plain' }));
  const stop = o.connected > 0 ? post(o, 'stop', button(t('stop'), { kind: 'plain' })) : '';
  const reload = o.outdated > 0 ? notice('warn', t('outdated')) : '';
  return card({ title: t('now'), body: html`!${reload}!${definitions(facts)}`, actions: html`!${toggle}!${stop}` });
}

function addressCard(o: OverlayView, t: T): Html {
  const shown = o.address
    ? copyable({ id: 'address', label: t('address'), value: o.address, copy: t('copy'), copied: t('copied') })
    : '';
  const show = o.address ? '' : post(o, 'address', button(t('show')));
  const replace = confirm({
    summary: t('replace'),
    text: t('replaceText'),
    action: post(o, 'replace', button(t('replaceConfirm'), { kind: 'danger' })),
  });
  return card({
    title: t('address'),
    intro: t('addressText'),
    body: shown,
    actions: html`!${show}!${replace}`,
    id: 'overlay-address',
  });
}

function lookCard(o: OverlayView, t: T): Html {
  const draft = o.hasDraft ? notice('info', t('lookDraft')) : '';
  return card({
    title: t('look'),
    intro: t('lookText'),
    body: html`!${draft}`,
    actions: linkButton(t('lookEdit'), `${home}/looks`, 'primary'),
  });
}

function generalCard(o: OverlayView, t: T): Html {
  const test = attributes({
    'data-words': t('voiceTestWords'),
    'data-speaks': t('voiceTestSpeaks', { languages: '{languages}' }),
    'data-silent': t('voiceTestSilent'),
  });
  const fields = html`!${settingFields(o.typed, o.wrong, t)}
<p class="hint">${voicesText(o, t)}</p>
<p class="hint" id="voice-result" role="status"></p>
<div class="actions">!${button(t('save'))}<button class="button plain" type="button" id="voice-test" hidden!${test}>${t('voiceTest')}</button></div>`;
  return card({
    title: t('general'),
    intro: t('generalText'),
    body: form({ action: `${home}/settings`, csrf: o.csrf, id: 'overlay-settings', body: fields }),
  });
}

/** Whether the browser that shows the overlay can read aloud, as its page has told. */
function voicesText({ voices, lang }: OverlayView, t: T): string {
  if (voices === null) return t('voicesUnknown');
  if (voices.length === 0) return t('voicesNone');
  const names = new Intl.DisplayNames(lang, { type: 'language' });
  const languages = voices.map((code) => names.of(code) ?? code).join(', ');
  return `${t('voicesSome', { languages })}${voices.includes('th') ? '' : ` ${t('voicesNoThai')}`}`;
}

/** Leads to the page of the tip, which says why. */
const statusBadge = ({ status, voided }: NonNullable<RecentAlert['tip']>, t: T): Html =>
  voided ? badge(t('voided'), 'warn') : badge(t(status), tones[status]);

function recentTable(o: OverlayView, t: T): Html {
  const list = table({
    caption: t('recent'),
    columns: [
      { label: t('when') },
      { label: t('from') },
      { label: t('amount'), numeric: true },
      { label: t('status') },
      { label: t('actions') },
    ],
    rows: o.recent.map(({ sequence, createdAt, name, amountMinor, replayable, tip }) => [
      o.times.time(new Date(createdAt), o.lang),
      writtenName(name),
      html`${money(amountMinor)}`,
      tip ? html`<a href="/dashboard/tips/${tip.id}">!${statusBadge(tip, t)}</a>` : badge(t('testAlert')),
      tip?.status === 'queued'
        ? post(o, `skip/${tip.id}`, button(t('skip'), { kind: 'plain' }))
        : replayable
          ? post(o, `replay/${sequence}`, button(t('replay'), { kind: 'plain' }))
          : '',
    ]),
  });
  return html`<div class="ledger">!${list}</div>`;
}

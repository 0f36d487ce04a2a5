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
import { type Html, html } from '../../platform/web/html.ts';
import type { Lang } from '../../platform/web/i18n.ts';
import type { AlertStatus } from '../tips/index.ts';
import type { RecentAlert } from './outcomes.ts';
import type { Overlay } from './service.ts';
import { settingFields, type Typed, type Wrong } from './settings-form.ts';
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
  readonly typed: Typed;
  readonly wrong: Wrong;
  /** Set only right after the creator asked to see the address. */
  readonly address: string | undefined;
}

type T = ReturnType<typeof overlayWords>;

const home = '/dashboard/overlay';
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
!${nowCard(o, t)}
!${addressCard(o, t)}
!${lookCard(o, t)}
!${card({ title: t('recent'), body: o.recent.length > 0 ? recentTable(o, t) : emptyState({ title: t('emptyTitle'), text: t('emptyText') }) })}`;
}

const post = ({ csrf }: OverlayView, path: string, body: Html): Html => form({ action: `${home}/${path}`, csrf, body });

function nowCard(o: OverlayView, t: T): Html {
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
    : post(o, 'address', html`<div class="actions">!${button(t('show'), { kind: 'plain' })}</div>`);
  const replace = confirm({
    summary: t('replace'),
    text: t('replaceText'),
    action: post(o, 'replace', button(t('replaceConfirm'), { kind: 'danger' })),
  });
  return card({
    title: t('address'),
    intro: t('addressText'),
    body: html`!${shown}!${replace}`,
    id: 'overlay-address',
  });
}

function lookCard(o: OverlayView, t: T): Html {
  const fields = html`!${settingFields(o.typed, o.wrong, t)}<div class="actions">!${button(t('save'))}</div>`;
  return card({
    title: t('look'),
    intro: t('lookText'),
    body: html`
<iframe class="preview" id="overlay-preview" title="${t('preview')}" src="${home}/preview" loading="lazy"></iframe>
!${form({ action: `${home}/settings`, csrf: o.csrf, id: 'overlay-settings', body: fields })}`,
  });
}

function recentTable(o: OverlayView, t: T): Html {
  return table({
    caption: t('recent'),
    columns: [
      { label: t('when') },
      { label: t('from') },
      { label: t('amount'), numeric: true },
      { label: t('status') },
      { label: t('actions') },
    ],
    rows: o.recent.map(({ sequence, createdAt, name, amountMinor, tip }) => [
      o.times.time(new Date(createdAt), o.lang),
      writtenName(name),
      html`${money(amountMinor)}`,
      tip ? badge(t(tip.status), tones[tip.status]) : badge(t('testAlert')),
      tip?.status === 'queued'
        ? post(o, `skip/${tip.id}`, button(t('skip'), { kind: 'plain' }))
        : tip?.status === 'held'
          ? ''
          : post(o, `replay/${sequence}`, button(t('replay'), { kind: 'plain' })),
    ]),
  });
}

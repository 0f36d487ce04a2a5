import { button, card, fold, notice } from '../../platform/web/blocks.ts';
import type { Times } from '../../platform/web/format.ts';
import { buttonForm, field, form, select } from '../../platform/web/forms.ts';
import { type Html, html } from '../../platform/web/html.ts';
import type { Lang } from '../../platform/web/i18n.ts';
import type { Zone } from '../../platform/zone.ts';
import type { Evening } from '../tips/index.ts';
import { emptyRehearsal, eveningValue, otherSpan, type TypedRehearsal, type WrongRehearsal } from './form.ts';
import type { RehearsalRow } from './repo.ts';
import { maxPace } from './span.ts';
import { rehearsalWords, type T } from './words.ts';

export interface ProgressView {
  readonly lang: Lang;
  readonly csrf: string;
  /** Where the forms go: `{base}/stop`. */
  readonly base: string;
  readonly rehearsal: RehearsalRow | undefined;
  readonly now: number;
}

/** How long the page shows how a rehearsal ended. */
const resultShownMs = 10 * 60_000;

/** A rehearsal that plays, or has just ended; nothing otherwise. */
export function rehearsalProgress({ lang, csrf, base, rehearsal, now }: ProgressView): Html {
  if (!rehearsal) return '';
  const t = rehearsalWords(lang);
  const { status, played, total, pace, ended_at } = rehearsal;
  if (status === 'waiting' || status === 'playing')
    return html`
<section class="card rehearsal" aria-labelledby="rehearsing">
  <h2 id="rehearsing" tabindex="-1">${t('title')}</h2>
  <progress max="${total}" value="${played}" aria-labelledby="rehearsed"></progress>
  <p id="rehearsed">${status === 'waiting' ? t('waiting') : t('progress', { played, total, pace })}</p>
  !${buttonForm({ action: `${base}/stop`, csrf, label: t('stop'), kind: 'danger', row: true })}
</section>`;
  if (now - (ended_at ?? 0) > resultShownMs) return '';
  return notice(status === 'finished' ? 'ok' : 'warn', t(status, { played, total }));
}

export interface RehearsalCardView {
  readonly lang: Lang;
  readonly csrf: string;
  readonly base: string;
  readonly zone: Zone;
  readonly times: Times;
  readonly evenings: readonly Evening[];
  readonly sandbox?: boolean;
  readonly typed?: TypedRehearsal | undefined;
  readonly wrong?: WrongRehearsal | undefined;
}

/** Where a span and a pace are chosen. */
export function rehearsalCard(o: RehearsalCardView): Html {
  const { lang, csrf, base, evenings } = o;
  const t = rehearsalWords(lang);
  const typed = o.typed ?? emptyRehearsal(evenings);
  const wrong = o.wrong ?? {};
  const of = (name: keyof TypedRehearsal) => {
    const problem = wrong[name];
    return { name, value: typed[name], label: t(name), error: problem && t(`problem_${problem}`) };
  };
  const options: [string, string][] = [
    ...evenings.map((evening): [string, string] => [eveningValue(evening), eveningText(o, t, evening)]),
    [otherSpan, t('other')],
  ];
  const times = html`
!${field({ ...of('from'), type: 'datetime-local' })}
!${field({ ...of('to'), type: 'datetime-local', hint: t('spanHint') })}`;
  const body = html`
!${select({ ...of('evening'), options })}
!${fold({ summary: t('otherSpan'), body: times, open: typed.evening === otherSpan })}
!${field({ ...of('pace'), type: 'number', inputmode: 'numeric', min: 1, max: maxPace, hint: t('paceHint') })}
<div class="actions">!${button(t('start'), { kind: 'plain' })}</div>`;
  return card({
    title: t('title'),
    intro: t(o.sandbox ? 'sandboxIntro' : 'intro'),
    body: evenings.length > 0 ? form({ action: base, csrf, body }) : html`<p class="hint">${t('noEvening')}</p>`,
    id: 'rehearsal',
  });
}

function eveningText({ lang, zone, times }: RehearsalCardView, t: T, { from, to, count }: Evening): string {
  const time = (ms: number) => zone.reading(ms).slice(11);
  const date = times.dateText(new Date(from), lang);
  return t(count === 1 ? 'eveningTip' : 'eveningTips', { date, from: time(from), to: time(to), count });
}

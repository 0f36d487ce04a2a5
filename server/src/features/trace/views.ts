import type { Assets } from '../../platform/web/assets.ts';
import { badge, definitions, notice, tableOf, tableRow, webAddress, written } from '../../platform/web/blocks.ts';
import type { Times } from '../../platform/web/format.ts';
import { type Html, html } from '../../platform/web/html.ts';
import type { Lang } from '../../platform/web/i18n.ts';
import {
  duration,
  laneNames,
  missingLabel,
  missingTone,
  missingWord,
  skippedBecause,
  stepText,
  toneOf,
} from './describe.ts';
import type { LaneMissing, LaneStep, TraceView } from './model.ts';
import { tracePicture } from './picture-views.ts';
import { type TraceT, traceWords } from './words.ts';

export interface ShownTrace {
  readonly view: TraceView;
  readonly lang: Lang;
  readonly times: Times;
}

/** The stylesheet of a page with a trace. */
export const traceStyle = (assets: Assets): (() => string) => assets.add(new URL('./trace.css', import.meta.url));

/** The picture, and the list of the same. `pause` is awaited between rows, of which there may be hundreds. */
export async function traceView(o: ShownTrace, pause: () => Promise<void>): Promise<Html> {
  const t = traceWords(o.lang);
  const names = laneNames(o.view, t);
  const start = Date.parse(o.view.steps[0]?.at ?? '');
  const columns = [{ label: t('after') }, { label: t('when') }, { label: t('where') }, { label: t('what') }];
  const rows: Html[] = [];
  for (const step of o.view.steps) {
    await pause();
    const after = Date.parse(step.at) - start;
    const cells = [
      html`${after === 0 ? t('start') : `+${duration(after, t)}`}`,
      o.times.exact(new Date(step.at), o.lang),
      laneCell(step.lane, names),
      stepCell(step, o, t),
    ];
    rows.push(tableRow(columns, cells));
  }
  for (const each of o.view.missing) {
    await pause();
    const cells = [
      badge(t(missingLabel(each)), missingTone(each)),
      html`–`,
      laneCell(each.lane, names),
      html`<div>!${missingText(each, o, t)}</div>`,
    ];
    rows.push(tableRow(columns, cells));
  }
  await pause();
  return html`
<section class="card trace">
  <h2>${t('title')}</h2>
  !${tracePicture(o.view, names, t)}
  !${addresses(o.view, names)}
  !${tableOf({ caption: t('caption'), columns, rows })}
</section>`;
}

const laneCell = (id: string, names: ReadonlyMap<string, string>): Html =>
  html`<bdi class="written">${names.get(id)}</bdi>`;

/** Which webhook is which, for those who may know the addresses. */
function addresses({ receivers }: TraceView, names: ReadonlyMap<string, string>): Html {
  const known = receivers.flatMap(({ id, url }): [string, Html][] =>
    url === null ? [] : [[names.get(id) ?? '', webAddress(url)]],
  );
  return known.length === 0 ? '' : definitions(known);
}

function stepCell(step: LaneStep, o: ShownTrace, t: TraceT): Html {
  return html`<div><bdi class="written what ${toneOf(step)}">${stepText(step, t)}</bdi>!${more(step, o, t)}</div>`;
}

const line = (content: Html): Html => html`<p class="hint">!${content}</p>`;

function more(step: LaneStep, { lang, times }: ShownTrace, t: TraceT): Html {
  switch (step.kind) {
    case 'recorded': {
      const { request_id } = step.detail;
      return request_id ? line(html`${t('requestId')} <code translate="no">${request_id}</code>`) : '';
    }
    case 'overlay': {
      const because = skippedBecause(step, t);
      const why = because === undefined ? '' : line(html`${because}`);
      return html`!${why}!${step.detail.overlay_open === false ? line(html`${t('noOverlayThen')}`) : ''}`;
    }
    case 'replay':
      return step.detail.overlay_open ? '' : line(html`${t('noOverlayWasOpen')}`);
    case 'webhook': {
      const { error, next_attempt_at: next } = step.detail;
      const why = error ? line(html`<code class="written" translate="no">${error}</code>`) : '';
      const coming = next ? line(html`${t('nextAttempt')} !${times.exact(new Date(next), lang)}`) : '';
      return html`!${why}!${coming}`;
    }
    case 'voided':
      return step.detail.reason ? written(t('reasonGiven', { reason: step.detail.reason })) : '';
    default:
      return '';
  }
}

const sinceWords: Partial<Record<LaneMissing['reason'], 'lastOpen' | 'lastConnected'>> = {
  no_overlay: 'lastOpen',
  no_program: 'lastConnected',
};

function missingText(step: LaneMissing, { lang, times }: ShownTrace, t: TraceT): Html {
  const { reason, since } = step;
  const word = missingWord(step);
  const text = t(word);
  if (word === 'missingNoOverlay' && since === null) return html`${text} ${t('neverOpen')}`;
  if (since === null) return html`${text}`;
  const at = times.exact(new Date(since), lang);
  return html`${text} ${t(sinceWords[reason] ?? 'since')} !${at}`;
}

/** The answer to the question that people come with: why did it not appear? For the top of a page. */
export function traceVerdict(o: ShownTrace): Html {
  const t = traceWords(o.lang);
  const { steps } = o.view;
  const outcome = steps.find((step) => step.kind === 'overlay');
  const absent = o.view.missing.filter(({ kind }) => kind === 'overlay');
  const [first] = absent;
  const start = Date.parse(steps[0]?.at ?? '');
  const held = steps.find((step) => step.kind === 'held');
  const rule = held ? html`<p>${stepText(held, t)}</p>` : '';
  if (outcome?.outcome === 'shown')
    return notice('ok', t('verdictShown', { after: duration(Date.parse(outcome.at) - start, t) }));
  if (outcome) {
    const why = outcome.outcome === 'expired' ? html`<p>${t('expired')}</p>` : '';
    return notice('warn', t('verdictNotShown'), html`!${rule}!${why}!${more(outcome, o, t)}`);
  }
  if (!first) return '';
  const text = html`!${rule}!${absent.map((each) => html`<p>!${missingText(each, o, t)}</p>`)}`;
  const title = t(missingLabel(first) === 'notYet' ? 'verdictNotYet' : 'verdictNotShown');
  return notice(missingTone(first), title, text);
}

/** The same for an app: did its webhooks get the event? */
export function webhookVerdict(o: ShownTrace): Html {
  const t = traceWords(o.lang);
  const absent = o.view.missing.find(({ kind }) => kind === 'webhook');
  if (absent) return notice(missingTone(absent), t('webhookMissing'), html`<p>!${missingText(absent, o, t)}</p>`);
  const attempts = o.view.steps.filter((step) => step.kind === 'webhook');
  const last = new Map(attempts.map((step) => [step.detail.delivery_id, step]));
  const failed = [...last.values()].find(({ outcome }) => outcome === 'failed');
  if (failed) return notice('error', t('webhookFailed'), html`<p>${stepText(failed, t)}</p>!${more(failed, o, t)}`);
  return attempts.length > 0 ? notice('ok', t('webhookDelivered')) : '';
}

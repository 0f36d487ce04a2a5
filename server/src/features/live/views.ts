import { badge, button, confirm, heading, linkButton, notice, written } from '../../platform/web/blocks.ts';
import { displayName, displayText } from '../../platform/web/browser/text.ts';
import { money } from '../../platform/web/format.ts';
import { form } from '../../platform/web/forms.ts';
import { attributes, type Html, html } from '../../platform/web/html.ts';
import type { RecentAlert } from '../overlay/index.ts';
import type { Tip } from '../tips/index.ts';
import { type ControlState, heldStep, maxHeld, maxListed } from './control.ts';
import type { T } from './words.ts';

export interface LiveView {
  readonly t: T;
  readonly csrf: string;
  /** Where the forms go: /dashboard/live, or a moderator's link. */
  readonly base: string;
  readonly state: ControlState;
  /** A moderator sees names and texts, and nothing else. */
  readonly moderator: boolean;
  readonly now: number;
  /** Of a rehearsal; empty for a moderator. */
  readonly progress: Html;
}

/**
 * The control. Scripts replace each part with `data-part` by a fresh one. `pause` is awaited before each entry: names and
 * messages take up to 0.2 ms to make ready for show.
 */
export async function liveView(o: LiveView, pause: () => Promise<void>): Promise<Html> {
  async function each<Listed>(listed: readonly Listed[], entry: (o: LiveView, one: Listed) => Html): Promise<Html[]> {
    const made: Html[] = [];
    for (const one of listed) {
      await pause();
      made.push(entry(o, one));
    }
    return made;
  }
  const entries = {
    held: await each(o.state.held, heldEntry),
    waiting: await each(o.state.waiting, waitingEntry),
    shown: await each(o.state.shown, shownEntry),
  };
  await pause();
  return control(o, entries);
}

interface Entries {
  readonly held: readonly Html[];
  readonly waiting: readonly Html[];
  readonly shown: readonly Html[];
}

function control(o: LiveView, entries: Entries): Html {
  const { t, base, state } = o;
  return html`
!${heading({ title: t('title'), intro: t(o.moderator ? 'moderatorIntro' : 'intro') })}
<div class="live" id="live"!${attributes({ 'data-base': base, 'data-failed': t('failed'), 'data-limited': t('limited'), 'data-new-held': t('newHeld') })}>
  <p class="connection" role="status" data-connection="connecting"!${attributes({ 'data-live': t('live'), 'data-lost': t('lost') })}>${t('connecting')}</p>
  <p class="visually-hidden" role="status" data-news></p>
  <div data-part="switches">!${switches(o)}</div>
  <div data-part="rehearsal">!${o.progress}</div>
  <section class="card" data-part="playing" aria-labelledby="playing">!${playing(o)}</section>
  <section class="card" data-part="held" aria-labelledby="held" data-count="${state.heldCount}">!${held(o, entries.held)}</section>
  <section class="card" data-part="waiting" aria-labelledby="waiting">!${waiting(o, entries.waiting)}</section>
  <section class="card" data-part="shown" aria-labelledby="shown">!${shown(o, entries.shown)}</section>
</div>`;
}

const title = (id: string, text: string): Html => html`<h2 id="${id}" tabindex="-1">${text}</h2>`;

/** A form of one button. `name` tells a screen reader what the button is about. */
function act(
  { base, csrf }: LiveView,
  path: string,
  label: string,
  o: { kind?: 'primary' | 'plain' | 'danger'; name?: string; pressed?: boolean; fields?: Html } = {},
): Html {
  const own = attributes({
    id: `act-${path.replaceAll('/', '-')}`,
    'aria-label': o.name,
    'aria-pressed': o.pressed === undefined ? undefined : String(o.pressed),
  });
  const body = html`!${o.fields ?? ''}<button class="button ${o.kind ?? 'primary'}" type="submit"!${own}>${label}</button>`;
  return form({ action: `${base}/${path}`, csrf, body });
}

function switches(o: LiveView): Html {
  const { t, state } = o;
  const pause = state.paused
    ? act(o, 'resume', t('resume'), { kind: 'primary' })
    : act(o, 'pause', t('pause'), { kind: 'plain' });
  const hide = state.hidden
    ? act(o, 'unhide', t('unhide'), { kind: 'primary' })
    : act(o, 'hide', t('hide'), { kind: 'danger' });
  const note = state.hidden ? notice('error', t('hiddenNote')) : state.paused ? notice('warn', t('pausedNote')) : '';
  const overlays =
    state.connected > 0
      ? html`<p class="hint">${t('overlays', { count: state.connected })}</p>`
      : notice('warn', t('noOverlay'), o.moderator ? '' : html`<a href="/dashboard/overlay">${t('openOverlay')}</a>`);
  return html`
<div class="switches">!${pause}!${hide}</div>
!${o.moderator ? '' : volume(o)}
!${note}
!${overlays}`;
}

function volume({ t, base, csrf, state }: LiveView): Html {
  const body = html`
<label for="volume">${t('volume')}</label>
<input type="range" id="volume" name="volume" min="0" max="100" step="5" value="${state.volume}">
<output for="volume">${state.volume}</output>
!${button(t('setVolume'), { kind: 'plain' })}`;
  return html`<div class="volume">!${form({ action: `${base}/volume`, csrf, body })}</div>`;
}

interface Item {
  readonly name: string;
  readonly message: string | null;
  readonly amountMinor: number;
}

const tipItem = (tip: Tip): Item => ({ ...tip.alert, amountMinor: tip.amount_minor });

function item({ moderator }: LiveView, { name, message, amountMinor }: Item, more: Html, actions: Html): Html {
  return html`
<div class="words">
  <p class="who"><strong><bdi class="written">${displayName(name)}</bdi></strong>!${moderator ? '' : html` <span class="amount">${money(amountMinor)}</span>`}</p>
  !${message ? html`<p class="message">!${written(message)}</p>` : ''}
  !${more}
</div>
<div class="actions">!${actions}</div>`;
}

function playing(o: LiveView): Html {
  const { t, state, now } = o;
  const current = state.playing;
  if (!current) return html`!${title('playing', t('playing'))}<p class="hint">${t('nothingPlaying')}</p>`;
  const marks = current.test ? badge(t('test')) : current.replay ? badge(t('replayed')) : '';
  const skip = act(o, 'stop', t('stop'), { name: t('stopName', { name: displayName(current.name) }) });
  return html`!${title('playing', t('playing'))}
<div class="entry now" data-ends-in="${Math.max(0, current.until - now)}">!${item(o, current, marks, skip)}</div>`;
}

const list = (items: readonly Html[], empty: string): Html =>
  items.length > 0
    ? html`<ul class="queue">!${items.map((each) => html`<li class="entry">!${each}</li>`)}</ul>`
    : html`<p class="hint">${empty}</p>`;

function heldEntry(o: LiveView, tip: Tip): Html {
  const { t } = o;
  const name = displayName(tip.alert.name);
  const actions = html`
!${act(o, `approve/${tip.id}`, t('approve'), { name: t('approveName', { name }) })}
!${act(o, `reject/${tip.id}`, t('reject'), { kind: 'danger', name: t('rejectName', { name }) })}`;
  return item(o, tipItem(tip), changes(o, tip), actions);
}

function held(o: LiveView, entries: readonly Html[]): Html {
  const { t, state } = o;
  return html`!${title('held', t('heldCount', { count: state.heldCount }))}!${allHeld(o)}!${list(entries, t('noneHeld'))}!${moreHeld(o)}`;
}

/** Decides about all tips that are listed. The form names them: a tip that has come since is not among them. */
function allHeld(o: LiveView): Html {
  const { t, state } = o;
  if (state.held.length < 2) return '';
  const count = state.held.length;
  const fields = html`<input type="hidden" name="tips" value="${state.held.map(({ id }) => id).join(' ')}">`;
  const reject = act(o, 'reject', t('rejectAllConfirm', { count }), { kind: 'danger', fields });
  return html`
<div class="actions">
  !${act(o, 'approve', t('approveAll', { count }), { kind: 'plain', fields })}
  !${confirm({ summary: t('rejectAll', { count }), text: t('rejectAllText'), action: reject })}
</div>`;
}

/** The oldest are listed. A link lists more of them. */
function moreHeld({ t, base, state }: LiveView): Html {
  const left = state.heldCount - state.held.length;
  if (left <= 0) return '';
  const next = Math.min(maxHeld, state.held.length + heldStep);
  const more = linkButton(t('listMore'), `${base}?held=${next}`);
  return html`<p class="hint">${t('heldLeft', { count: left })}</p>!${state.held.length < maxHeld ? more : ''}`;
}

/** What screening has changed. A moderator sees only what would be shown. */
function changes({ t, moderator }: LiveView, { alert, name, display_name, message }: Tip): Html {
  const hidden = alert.message === null && message !== null && message !== '';
  const note = hidden ? html`<p class="hint">${t('hiddenMessage')}</p>` : '';
  const sentName = display_name ?? name;
  if (moderator || (alert.name === sentName && alert.message === message)) return note;
  return html`!${note}<details><summary>${t('asSent')}</summary><p>!${written(sentName)}</p><p>!${written(message ?? '')}</p></details>`;
}

function waitingEntry(o: LiveView, tip: Tip): Html {
  const name = o.t('skipName', { name: displayName(tip.alert.name) });
  return item(o, tipItem(tip), '', act(o, `skip/${tip.id}`, o.t('skip'), { kind: 'plain', name }));
}

function waiting({ t }: LiveView, items: readonly Html[]): Html {
  return html`!${title('waiting', t('waitingCount', { count: items.length < maxListed ? items.length : `${maxListed}+` }))}!${list(items, t('noneWaiting'))}`;
}

function shownEntry(o: LiveView, alert: RecentAlert): Html {
  const name = o.t('replayName', { name: displayText(alert.name) });
  return item(o, alert, '', act(o, `replay/${alert.sequence}`, o.t('replay'), { kind: 'plain', name }));
}

function shown({ t }: LiveView, items: readonly Html[]): Html {
  return html`!${title('shown', t('shown'))}!${list(items, t('noneShown'))}`;
}

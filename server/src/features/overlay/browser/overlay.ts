/**
 * The overlay page. It runs until it is closed: it resumes where it stopped, shows the alerts that arrive, and
 * acknowledges each one to the server. Failures of the network or the server only delay it.
 */
import { connectEvents } from '../../../../../sdk/src/events/index.ts';
import type { StreamEvent } from '../../../../../sdk/src/types.ts';
import { displayName } from '../../../platform/web/browser/text.ts';
import type { OverlayTreatment } from '../../events/index.ts';
import { createOverlayApi } from './overlay-api.ts';
import { cachePage } from './page-cache.ts';
import { createPlayer, type OverlayState, type QueuedAlert } from './player.ts';
import { preload } from './preload.ts';
import { maxLanguages, protocol } from './protocol.ts';
import { createRehearsals } from './rehearsal.ts';
import { openSavedState } from './saved-state.ts';
import { setVolume } from './sound.ts';
import { applyStyle } from './stage.ts';
import { onVoicesChanged, spokenLanguages } from './voice.ts';

/** How often the state is refreshed, in case a hint was lost. */
const refreshMs = 10_000;
/** The wait before a new attempt after the server has refused the key. */
const refusedRetryMs = 20_000;

const [, , key = ''] = location.pathname.split('/');
const { creator = '', treatments = '{}' } = document.body.dataset;
/** What to do with the events of each type: the server's table. */
const treatmentOf: Readonly<Record<string, OverlayTreatment>> = JSON.parse(treatments);
const saved = await openSavedState(creator);
const api = createOverlayApi(`/overlay/${key}`);
const skipped = new Set<string>();
const voided = new Set<string>();
let state: OverlayState;
let clockOffset = 0;
let refreshing = Promise.resolve();
let refreshQueued = false;
let live = false;
/** The variations that were loaded last, as JSON. */
let loaded = '';

const player = createPlayer({
  saved,
  state: () => state,
  isSkipped: (tipId) => skipped.has(tipId),
  isVoided: (tipId) => voided.has(tipId),
  onAck: () => void api.sendAcks(saved),
});

const rehearsals = createRehearsals({ add: player.add, end: player.endRehearsals, alertOf });

function applyState(next: OverlayState): void {
  state = next;
  clockOffset = next.now - Date.now();
  for (const tipId of next.skipped) skipped.add(tipId);
  for (const tipId of next.voided) {
    voided.add(tipId);
    player.remove(tipId);
  }
  applyStyle(next.settings);
  setVolume(next.volume);
  document.documentElement.classList.toggle('hidden', next.hidden);
  if (next.stopped !== null) player.stopEvent(next.stopped);
  if (next.rehearsal) rehearsals.update(next.rehearsal);
  void loadLooks(next.settings);
  if (next.paused) player.stop();
  else player.resume();
}

/** Loads the files and fonts of new variations, and caches the page with them. */
async function loadLooks(settings: OverlayState['settings']): Promise<void> {
  const variations = JSON.stringify(settings.variations);
  if (variations === loaded) return;
  loaded = variations;
  const files = await preload(settings);
  await cachePage(creator, files).catch(() => {}); // without the cache the next start needs the server
}

/** Tells the server which languages this browser can read aloud: the dashboard shows it. */
function reportVoices(): void {
  const { instance } = saved;
  void api.request('voices', { instance, languages: spokenLanguages().slice(0, maxLanguages) });
}

/** Refreshes run one at a time. A call during a refresh queues one more. */
function refresh(): Promise<void> {
  if (refreshQueued) return refreshing;
  refreshQueued = true;
  refreshing = refreshing.then(async () => {
    refreshQueued = false;
    applyState(await api.request<OverlayState>('state'));
  });
  return refreshing;
}

function alertOf(event: StreamEvent): QueuedAlert | undefined {
  const { data } = event;
  const record = 'tip' in data ? data.tip : 'alert' in data ? data.alert : undefined;
  if (!record) return undefined;
  const limit = Date.now() + clockOffset - state.settings.maxAgeMinutes * 60_000;
  return {
    sequence: event.sequence,
    text: {
      name: displayName(record.display_name, record.name),
      amountMinor: record.amount_minor,
      message: record.message,
    },
    tipId: 'tip' in data ? record.id : undefined,
    test: event.test,
    replay: event.replay,
    expired: Date.parse(event.created_at) < limit,
  };
}

async function handle(event: StreamEvent): Promise<void> {
  await refreshing; // the tips skipped while this page was away must be known before an alert is shown
  const treatment = treatmentOf[event.type];
  switch (treatment) {
    case 'play': {
      const alert = alertOf(event);
      if (alert) player.add(alert);
      return;
    }
    case 'skip':
      if ('tip_id' in event.data && event.data.tip_id) {
        skipped.add(event.data.tip_id);
        player.stop(event.data.tip_id);
      }
      return;
    case 'remove':
      if ('tip' in event.data) {
        voided.add(event.data.tip.id);
        player.remove(event.data.tip.id);
      }
      return;
    case 'widget':
      return;
    default:
      treatment satisfies undefined;
  }
}

async function begin(): Promise<void> {
  player.clear();
  const { instance, sequence } = saved;
  const { position, ...first } = await api.request<OverlayState & { position: number }>('begin', {
    instance,
    sequence,
  });
  saved.startAt(position);
  applyState(first);
  connectEvents({
    url: new URL('/overlay/socket', location.href).href.replace(/^http/, 'ws'),
    token: () => key,
    after: position,
    sparse: true,
    protocol,
    onEvent: handle,
    onReset: (reset) => saved.startAt(reset.sequence),
    onStatus(status) {
      live = status === 'live';
      if (live) void refresh();
      // The key was replaced or the creator suspended. A suspension can end, so try again.
      if (status === 'ended') setTimeout(begin, refusedRetryMs);
    },
    onFrame(type, frame) {
      const { tip_id: tipId } = frame;
      if (type === 'rehearsal') rehearsals.receive(frame);
      if (type === 'overlay') void refresh();
      if (type === 'stop') player.stop(typeof tipId === 'string' ? tipId : undefined);
    },
  });
}

void api.sendAcks(saved);
await begin();
setInterval(() => live && refresh(), refreshMs);
reportVoices();
onVoicesChanged(reportVoices);

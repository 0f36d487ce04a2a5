/**
 * The page of a widget. It reads its state from the server, again whenever the socket tells of a change, a day or month
 * ends, or it was away. It never acknowledges anything.
 */
import { connectEvents } from '../../../../../sdk/src/events/index.ts';
import type { WidgetState } from '../widgets.ts';
import { createOverlayApi } from './overlay-api.ts';
import { cachePage } from './page-cache.ts';
import { applyLook } from './stage.ts';
import { type SingleLook, type Variation, variationFor } from './variation.ts';
import { drawWidget } from './widget-view.ts';

/** How often the state is read anew, in case a hint was lost. */
const refreshMs = 10_000;
/** The least time between two refreshes. */
const pauseMs = 250;
/** The wait before a new attempt after the server has refused the key. */
const refusedRetryMs = 20_000;
/** The longest wait of a timer. */
const maxTimerMs = 2 ** 31 - 1;

const [, , key = '', widget = ''] = location.pathname.split('/');
const { creator = '', heading = '' } = document.body.dataset;
/** The widget looks like the alert of this amount. */
const lookMinor = Math.round(Number(new URLSearchParams(location.search).get('look')) * 100) || 0;
const api = createOverlayApi(`/overlay/${key}`);
let refreshing = Promise.resolve();
let refreshQueued = false;
let boundary: ReturnType<typeof setTimeout> | undefined;

/** Refreshes run one at a time. A call during a refresh queues one more. */
function refresh(): void {
  if (refreshQueued) return;
  refreshQueued = true;
  refreshing = refreshing.then(async () => {
    refreshQueued = false;
    type Shown = WidgetState & { settings: SingleLook & { variations?: readonly Variation[] }; hidden: boolean };
    const state = await api.request<Shown>(`${widget}/state${location.search}`);
    applyLook(variationFor(state.settings, lookMinor));
    document.documentElement.classList.toggle('hidden', state.hidden);
    drawWidget(state, heading);
    clearTimeout(boundary);
    if (state.refreshAt !== null)
      boundary = setTimeout(refresh, Math.min(maxTimerMs, state.refreshAt - state.now + 50));
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  });
}

function connect(): void {
  connectEvents({
    url: new URL('/overlay/widgets/socket', location.href).href.replace(/^http/, 'ws'),
    token: () => key,
    onEvent() {},
    onStatus(status) {
      if (status === 'live') refresh();
      // The key was replaced or the creator suspended. A suspension can end, so try again.
      if (status === 'ended') setTimeout(connect, refusedRetryMs);
    },
    onFrame: (type) => (type === 'widget' || type === 'overlay') && refresh(),
  });
}

refresh();
connect();
setInterval(refresh, refreshMs);
cachePage(`${creator}:${widget}${location.search}`).catch(() => {}); // without the cache the next start needs the server

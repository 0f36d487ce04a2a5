/**
 * The overlay page. Once loaded it goes on for ever: it begins where it stopped, plays what comes, and tells the server
 * what became of each alert, through whatever happens to the network and the server.
 */
import { connectEvents } from '../../../../../sdk/src/socket.ts';
import type { StreamEvent } from '../../../../../sdk/src/types.ts';
import type { OverlayTreatment } from '../../events/index.ts';
import { keepPage } from './keep.ts';
import { createLink } from './link.ts';
import { openMemory } from './memory.ts';
import { createPlayer, type Item, type State } from './player.ts';
import { dress } from './stage.ts';

/** How often to look at the settings, should a hint have been lost, and how long to wait after being turned away. */
const lookMs = 30_000;
const turnedAwayMs = 20_000;

const [, , key = ''] = location.pathname.split('/');
const { creator = '', treatments = '{}' } = document.body.dataset;
/** What to do with the events of each type: the server's table. */
const treatmentOf: Readonly<Record<string, OverlayTreatment>> = JSON.parse(treatments);
const memory = await openMemory(creator);
const link = createLink(`/overlay/${key}`);
const skipped = new Set<string>();
let state: State;
let clockOffset = 0;
let looking = Promise.resolve();
let lookWaits = false;
let live = false;

const player = createPlayer({
  memory,
  state: () => state,
  isSkipped: (tipId) => skipped.has(tipId),
  onNoted: () => void link.tell(memory),
});

function take(next: State): void {
  state = next;
  clockOffset = next.now - Date.now();
  for (const tipId of next.skipped) skipped.add(tipId);
  dress(next.settings);
  player.wake();
}

/** One look at a time; one that is asked for while another is under way follows it. */
function look(): Promise<void> {
  if (lookWaits) return looking;
  lookWaits = true;
  looking = looking.then(async () => {
    lookWaits = false;
    take(await link.ask<State>('state'));
  });
  return looking;
}

function itemOf(event: StreamEvent): Item | undefined {
  const { data } = event;
  const record = 'tip' in data ? data.tip : 'alert' in data ? data.alert : undefined;
  if (!record) return undefined;
  const limit = Date.now() + clockOffset - state.settings.maxAgeMinutes * 60_000;
  return {
    sequence: event.sequence,
    words: { name: record.display_name ?? record.name, amountMinor: record.amount_minor, message: record.message },
    tipId: 'tip' in data && !event.replay ? record.id : undefined,
    replay: event.replay,
    expired: Date.parse(event.created_at) < limit,
  };
}

async function handle(event: StreamEvent): Promise<void> {
  await looking; // what was skipped while this page was away is known before anything is played
  const treatment = treatmentOf[event.type];
  switch (treatment) {
    case 'play': {
      const item = itemOf(event);
      if (item) player.add(item);
      return;
    }
    case 'skip':
      if ('tip_id' in event.data && event.data.tip_id) skipped.add(event.data.tip_id);
      return;
    default:
      treatment satisfies undefined;
  }
}

async function begin(): Promise<void> {
  player.clear();
  const { instance, sequence } = memory;
  const { position, ...first } = await link.ask<State & { position: number }>('begin', { instance, sequence });
  memory.begin(position);
  take(first);
  connectEvents({
    url: new URL('/overlay/socket', location.href).href.replace(/^http/, 'ws'),
    token: () => key,
    after: position,
    sparse: true,
    onEvent: handle,
    onReset: (reset) => memory.begin(reset.sequence),
    onStatus(status) {
      live = status === 'live';
      if (live) void look();
      // The key was replaced or the creator suspended, which can end: ask now and then.
      if (status === 'ended') setTimeout(begin, turnedAwayMs);
    },
    onFrame(type) {
      if (type === 'overlay') void look();
    },
  });
}

void link.tell(memory);
await begin();
setInterval(() => live && look(), lookMs);
keepPage(creator).catch(() => {}); // without it the next start needs the server

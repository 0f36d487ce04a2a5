import type { Overlays, PlayingAlert, RecentAlert } from '../overlay/index.ts';
import type { Tip, Tips } from '../tips/index.ts';

export interface ControlParts {
  readonly overlays: Overlays;
  readonly tips: Tips;
  readonly presence: { readonly connected: (creatorId: string) => Promise<number> };
}

/** What live control shows. */
export interface ControlState {
  readonly connected: number;
  readonly paused: boolean;
  readonly hidden: boolean;
  readonly volume: number;
  readonly playing: PlayingAlert | undefined;
  readonly held: readonly Tip[];
  readonly waiting: readonly Tip[];
  /** Alerts that were shown, newest first. */
  readonly shown: readonly RecentAlert[];
}

export type Control = ReturnType<typeof createControl>;

/** The longest lists; what is left over follows when something is settled. */
const maxListed = 50;
const maxShown = 5;

export function createControl({ overlays, tips, presence }: ControlParts) {
  return {
    async state(creatorId: string): Promise<ControlState> {
      const [{ paused, hidden, volume }, connected, playing, held, waiting, recent] = await Promise.all([
        overlays.get(creatorId),
        presence.connected(creatorId),
        overlays.playing(creatorId),
        tips.held(creatorId, maxListed),
        overlays.waiting(creatorId, maxListed),
        overlays.recent(creatorId, maxListed),
      ]);
      const shown = recent
        .filter(({ sequence, tip }) => sequence !== playing?.sequence && tip?.status === 'shown')
        .slice(0, maxShown);
      return { connected, paused, hidden, volume, playing, held, waiting, shown };
    },
  };
}

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
  /** Also of those that are not listed. */
  readonly heldCount: number;
  readonly waiting: readonly Tip[];
  /** Alerts that were shown, newest first. */
  readonly shown: readonly RecentAlert[];
}

export type Control = ReturnType<typeof createControl>;

/** The longest lists. Further entries appear when earlier ones are settled. */
export const maxListed = 50;
/** Held tips are listed by so many more at a time. */
export const heldStep = 50;
export const maxHeld = 500;
const maxShown = 5;

export function createControl({ overlays, tips, presence }: ControlParts) {
  return {
    /** The ids that belong to held tips, in the order of the list of held tips. Other ids cause no write. */
    async heldAmong(creatorId: string, ids: readonly string[]): Promise<string[]> {
      const named = new Set(ids);
      return (await tips.held(creatorId, maxHeld)).map(({ id }) => id).filter((id) => named.has(id));
    },

    async state(creatorId: string, listedHeld: number = heldStep): Promise<ControlState> {
      const [{ paused, hidden, volume }, connected, playing, held, heldCount, waiting, recent] = await Promise.all([
        overlays.get(creatorId),
        presence.connected(creatorId),
        overlays.playing(creatorId),
        tips.held(creatorId, listedHeld),
        tips.countHeld(creatorId),
        overlays.waiting(creatorId, maxListed),
        overlays.recent(creatorId, maxListed),
      ]);
      // A tip that was held plays by the event of its approval, so the sequences of the two differ.
      const onScreen = playing?.replay ? null : playing?.tipId;
      const shown = recent
        .filter(({ tip }) => tip?.status === 'shown' && !tip.voided && tip.id !== onScreen)
        .slice(0, maxShown);
      return { connected, paused, hidden, volume, playing, held, heldCount, waiting, shown };
    },
  };
}

import type { OverlaySettings } from '../settings.ts';
import type { Ack, Memory } from './memory.ts';
import { play } from './sound.ts';
import { show, type Words } from './stage.ts';

/** An alert in the queue. */
export interface Item {
  readonly sequence: number;
  readonly words: Words;
  /** The tip whose own alert this is; nothing for tests and replays. */
  readonly tipId: string | undefined;
  /** Asked for by the creator, whatever its amount. */
  readonly replay: boolean;
  /** Too old when it came. */
  readonly expired: boolean;
}

/** What the server says about the overlay. */
export interface State {
  readonly settings: OverlaySettings;
  readonly paused: boolean;
  /** Tips that must not be played. */
  readonly skipped: readonly string[];
  readonly now: number;
}

export interface PlayerParts {
  readonly memory: Memory;
  readonly state: () => State;
  readonly isSkipped: (tipId: string) => boolean;
  /** There is something to tell the server. */
  readonly onNoted: () => void;
}

/**
 * Plays alerts one after another. Each one, also one that is not shown, is noted in its turn: for one that is shown,
 * in the very task that puts it on screen.
 */
export function createPlayer({ memory, state, isSkipped, onNoted }: PlayerParts) {
  let queue: Item[] = [];
  let playing = false;

  function outcomeOf({ words, tipId, replay, expired }: Item): Ack['outcome'] {
    if (tipId !== undefined && isSkipped(tipId)) return 'dropped';
    if (expired) return 'expired';
    return !replay && words.amountMinor < state().settings.minimumMinor ? 'below_minimum' : 'shown';
  }

  async function run(): Promise<void> {
    if (playing) return;
    playing = true;
    while (queue.length > 0 && !state().paused) {
      const [item, ...rest] = queue;
      queue = rest;
      if (item) await turn(item);
    }
    playing = false;
  }

  async function turn(item: Item): Promise<void> {
    const outcome = outcomeOf(item);
    const { settings } = state();
    const shown = outcome === 'shown' ? show(item.sequence, item.words, settings) : undefined;
    memory.note({ sequence: item.sequence, outcome });
    onNoted();
    if (outcome === 'shown') play(settings);
    await shown;
  }

  return {
    add(item: Item): void {
      queue.push(item);
      void run();
    },
    /** The state has changed. */
    wake: () => void run(),
    clear(): void {
      queue = [];
    },
  };
}

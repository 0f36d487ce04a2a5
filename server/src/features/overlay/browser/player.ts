import type { OverlaySettings } from '../settings.ts';
import { playAlert } from './alert.ts';
import type { Ack, SavedState } from './saved-state.ts';
import type { AlertText, ShownAlert } from './stage.ts';

/** An alert in the queue. */
export interface QueuedAlert {
  readonly sequence: number;
  readonly text: AlertText;
  /** The tip that this alert announces, also again; undefined for test alerts. */
  readonly tipId: string | undefined;
  /** A test waits until no tip does. */
  readonly test: boolean;
  /** The creator asked for it, so the minimum amount does not apply. */
  readonly replay: boolean;
  /** The alert was too old when it arrived. */
  readonly expired: boolean;
  /** Of an alert that is only rehearsed: it is never acknowledged. */
  readonly rehearsal?: Rehearsal;
}

export interface Rehearsal {
  readonly id: string;
  /** How many times as fast the alert is shown. */
  readonly pace: number;
}

/** The overlay's state on the server. */
export interface OverlayState {
  readonly settings: OverlaySettings;
  readonly paused: boolean;
  /** Nothing is shown. `paused` is true as well. */
  readonly hidden: boolean;
  /** Of everything, 0 to 100. */
  readonly volume: number;
  /** The sequence of the alert that was taken off the screen last. */
  readonly stopped: number | null;
  /** Tips whose alerts must not be shown. */
  readonly skipped: readonly string[];
  /** Tips that must not even be shown again. */
  readonly voided: readonly string[];
  /** The last one. */
  readonly rehearsal: { readonly id: string; readonly status: string } | null;
  readonly now: number;
}

export interface PlayerParts {
  readonly saved: SavedState;
  readonly state: () => OverlayState;
  readonly isSkipped: (tipId: string) => boolean;
  readonly isVoided: (tipId: string) => boolean;
  /** An acknowledgement is pending. */
  readonly onAck: () => void;
}

/** While the overlay is paused no more than so many rehearsed alerts wait. */
const maxRehearsed = 500;

/** Lower ones are shown first. */
const rankOf = ({ test, rehearsal }: QueuedAlert): number => (rehearsal ? 2 : test ? 1 : 0);

/**
 * Shows alerts one after another: tips, then tests, then what is rehearsed, which leaves the screen at once for the others.
 * The outcome of each, also of one that is not shown, is recorded in that order: that of a shown alert in the same task
 * that adds it to the page. A test that a tip has overtaken is lost by a reload, as every test is that was made before
 * the page connected.
 */
export function createPlayer({ saved, state, isSkipped, isVoided, onAck }: PlayerParts) {
  let queue: QueuedAlert[] = [];
  let playing = false;
  let current: { readonly alert: QueuedAlert; readonly shown: ShownAlert } | undefined;

  function outcomeOf({ text, tipId, replay, expired, rehearsal }: QueuedAlert): Ack['outcome'] {
    if (tipId !== undefined && (isVoided(tipId) || (!replay && isSkipped(tipId)))) return 'dropped';
    if (expired) return 'expired';
    return (!replay || rehearsal) && text.amountMinor < state().settings.minimumMinor ? 'below_minimum' : 'shown';
  }

  async function run(): Promise<void> {
    if (playing) return;
    playing = true;
    while (queue.length > 0 && !state().paused) {
      const [alert, ...rest] = queue;
      queue = rest;
      if (alert) await play(alert);
    }
    playing = false;
  }

  async function play(alert: QueuedAlert): Promise<void> {
    const outcome = outcomeOf(alert);
    const { settings } = state();
    const { sequence } = alert;
    const pace = alert.rehearsal?.pace;
    const started = outcome === 'shown' ? playAlert(sequence, alert.text, settings, { pace }) : undefined;
    if (started) current = { alert, shown: started };
    if (!alert.rehearsal) {
      saved.record({ sequence, outcome, ...(started && { ms: started.ms }) });
      onAck();
    }
    await current?.shown.gone;
    current = undefined;
  }

  return {
    add(alert: QueuedAlert): void {
      const rank = rankOf(alert);
      if (alert.rehearsal && queue.length >= maxRehearsed) return;
      const later = queue.findIndex((queued) => rankOf(queued) > rank);
      queue.splice(later < 0 ? queue.length : later, 0, alert);
      if (current?.alert.rehearsal && !alert.rehearsal && outcomeOf(alert) === 'shown') current.shown.remove();
      void run();
    },
    /** Takes the alert that is playing off the screen at once; with `tipId`, only if it announces this tip. */
    stop(tipId?: string): void {
      if (tipId === undefined || (current?.alert.tipId === tipId && !current.alert.replay)) current?.shown.remove();
    },
    /** Takes a tip off the screen at once, also where it is shown again. */
    remove(tipId: string): void {
      if (current?.alert.tipId === tipId) current.shown.remove();
    },
    /** The same for the alert of this event. */
    stopEvent(sequence: number): void {
      if (current?.alert.sequence === sequence && !current.alert.rehearsal) current.shown.remove();
    },
    /** Nothing of these rehearsals is shown any more. */
    endRehearsals(isOver: (id: string) => boolean): void {
      queue = queue.filter(({ rehearsal }) => !rehearsal || !isOver(rehearsal.id));
      if (current?.alert.rehearsal && isOver(current.alert.rehearsal.id)) current.shown.remove();
    },
    /** Goes on if the overlay is no longer paused. */
    resume: () => void run(),
    clear(): void {
      queue = [];
    },
  };
}

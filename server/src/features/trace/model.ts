import type { HoldReason, StoredEvent, StoredSkipReason } from '../events/index.ts';
import type { Tip } from '../tips/index.ts';
import type { Receiver } from '../webhooks/index.ts';
import type { MissingReason, MissingStep, TraceStep } from './schemas.ts';

/** Who reads: an app its own deliveries, a creator all of theirs without the addresses of apps, the operator everything. */
export type Reader = { readonly clientId: string } | 'creator' | 'operator';

/** A receiver, with what the reader may know of it. */
export interface Lane extends Pick<Receiver, 'id' | 'kind'> {
  /** The name of the app, or what the creator calls the connection. */
  readonly name: string | null;
  /** Only for the app itself and for the operator. */
  readonly url: string | null;
}

/**
 * `lane`: `server`, `overlay`, or the id of a receiver. `erased`: the alert was skipped because the words of its tip were
 * erased; of this the API tells only that it was skipped.
 */
export type LaneStep = (TraceStep | ProgramStep | ReplayStep) & { readonly lane: string; readonly erased?: boolean };
export interface LaneMissing extends Omit<MissingStep, 'kind' | 'reason'> {
  readonly kind: MissingStep['kind'] | 'program';
  readonly reason: MissingReason | 'no_program';
  readonly lane: string;
}

/** A program with a stream key was sent an event. Apps are not told of it. */
interface ProgramStep {
  readonly at: string;
  readonly kind: 'program';
  readonly outcome: 'sent';
  readonly detail: { readonly type: string; readonly sequence: number };
}

/**
 * The creator asked the overlay to show the alert again. Whether it did is not stored. The API has the event
 * `alert.replayed` instead.
 */
interface ReplayStep {
  readonly at: string;
  readonly kind: 'replay';
  readonly outcome: null;
  readonly detail: { readonly overlay_open: boolean };
}

/** A stream key, and when a program with it was sent certain events. */
export interface ProgramFacts {
  readonly id: string;
  readonly label: string;
  readonly minimumMinor: number;
  readonly createdAt: number;
  readonly connected: boolean;
  /** When its last connection was opened or closed; nothing if there was none. */
  readonly lastUsedAt: number | null;
  /** When a program was sent an event, by its sequence. */
  readonly sends: ReadonlyMap<number, number>;
  /** Sends of so many of the newest events are kept. */
  readonly keptEvents: number;
}

/** A trace with the lane of everything in it. */
export interface TraceView {
  /** What the trace is of: a tip, or an event that is about none. */
  readonly id: string;
  readonly tip: Tip | null;
  readonly receivers: readonly Lane[];
  readonly steps: readonly LaneStep[];
  readonly missing: readonly LaneMissing[];
}

/** An event with the fields of its body that matter here. */
export interface ReadEvent extends Pick<StoredEvent, 'sequence' | 'type' | 'screened'> {
  readonly id: string;
  readonly at: number;
  readonly data: {
    readonly tip?: Tip;
    readonly alert?: { readonly id: string; readonly amount_minor: number; readonly overlays_connected: number };
    readonly tip_id?: string | null;
    readonly alert_id?: string | null;
    readonly shown_at?: string | null;
    readonly reason?: StoredSkipReason | null;
  };
}

/** What is known of the overlay of a creator. */
export interface OverlayFacts {
  /** When at least one was open, the oldest first; `to` is null if one still is. */
  readonly spans: readonly { readonly from: number; readonly to: number | null }[];
  readonly paused: boolean;
  readonly hidden: boolean;
  /** Smaller tips are not shown. */
  readonly minimumMinor: number;
  /** Alerts from before this time are not shown. */
  readonly oldestAt: number;
}

/** What is known of the alert of a tip. */
export interface AlertFacts {
  readonly tip: Tip;
  readonly requestId: string | null;
  readonly heldBy: HoldReason | null;
  readonly approvedAt: number | null;
  readonly settledAt: number | null;
  readonly reason: StoredSkipReason | null;
  readonly erasedAt: number | null;
}

export function readEvent({ sequence, type, body, screened }: StoredEvent): ReadEvent {
  const { id, created_at, data } = JSON.parse(body);
  return { id, sequence, type, screened, at: Date.parse(created_at), data };
}

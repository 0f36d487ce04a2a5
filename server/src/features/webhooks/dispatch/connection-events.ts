/**
 * Which events a creator's connection gets. Invariants:
 *
 * - Only what screens get: nothing that is held, rejected or blocked, and nothing below the connection's smallest amount.
 * - A void is sent only to a connection that was sent the tip, or may have been. Deliveries of the tip that wait are cancelled.
 */
import type { Tx } from '../../../platform/db/database.ts';
import { connectionTreatments, forScreen, type StoredEvent } from '../../events/index.ts';
import { cancelTip } from './void-repo.ts';

interface Connection {
  readonly id: string;
  /** The event types that its format has words for. */
  readonly types: readonly string[];
  readonly minAmountMinor: number;
}

export interface ConnectionEvents<Event> {
  readonly wanted: readonly Event[];
  /** By the sequence of the event that announces it. */
  readonly tipIds: ReadonlyMap<number, string>;
}

/** Of consecutive events, those that the connection gets. Cancels the waiting deliveries of voided tips. */
export async function eventsForConnection<Event extends StoredEvent>(
  tx: Tx,
  { id, types, minAmountMinor }: Connection,
  events: readonly Event[],
): Promise<ConnectionEvents<Event>> {
  const shown = events.flatMap((event) => {
    const treatment = connectionTreatments.get(event.type);
    const projected = treatment === undefined ? null : forScreen(event);
    return projected ? [{ event, treatment, record: recordOf(projected) }] : [];
  });
  const voided = new Set(shown.filter(({ treatment }) => treatment === 'void').map(({ record }) => record.id));
  const wanted: Event[] = [];
  const tipIds = new Map<number, string>();
  for (const { event, treatment, record } of shown) {
    if (treatment === 'void') {
      if ((await cancelTip(tx, id, record.id)) && types.includes(event.type)) wanted.push(event);
    } else if (record.amountMinor >= minAmountMinor && !voided.has(record.id) && types.includes(event.type)) {
      wanted.push(event);
      if (treatment === 'tip') tipIds.set(event.sequence, record.id);
    }
  }
  return { wanted, tipIds };
}

/** The tip or the test alert of an event. */
function recordOf({ body }: StoredEvent): { id: string; amountMinor: number } {
  const { tip, alert } = JSON.parse(body).data;
  const { id, amount_minor } = tip ?? alert;
  return { id, amountMinor: amount_minor };
}

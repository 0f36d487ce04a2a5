/** The attempts to deliver events to receivers, and why a receiver did not get one. */
import { toTimestampOrNull } from '../../platform/clock.ts';
import { isWithheld } from '../events/index.ts';
import type { EventDelivery, Receiver } from '../webhooks/index.ts';
import type { Lane, LaneMissing, LaneStep, ReadEvent, Reader } from './model.ts';

/** How far the log of the creator has been turned into deliveries. */
export interface ReceiverFacts {
  readonly receivers: readonly Receiver[];
  readonly deliveries: readonly EventDelivery[];
  readonly dispatched: number;
}

export function receiverLane({ id, kind, name, url }: Receiver, reader: Reader): Lane {
  return { id, kind, name, url: reader === 'creator' ? null : url };
}

/** The last attempt that is kept tells when the next one comes. */
export function attemptSteps({ deliveries }: ReceiverFacts, events: readonly ReadEvent[], reader: Reader): LaneStep[] {
  const types = new Map(events.map(({ id, type }) => [id, type]));
  return deliveries.flatMap(({ endpointId, eventId, id, status, attemptCount, attempts, nextAttemptAt }) =>
    attempts.map(
      ({ number, at, status_code, duration_ms, error }): LaneStep => ({
        lane: endpointId,
        at,
        kind: 'webhook',
        outcome: error === null ? 'succeeded' : 'failed',
        detail: {
          webhook_id: endpointId,
          delivery_id: id,
          event_id: eventId,
          event_type: types.get(eventId) ?? '',
          attempt: number,
          status_code,
          duration_ms,
          // It may name the address of the app.
          error: reader === 'creator' ? null : error,
          next_attempt_at: number === attemptCount && status === 'pending' ? toTimestampOrNull(nextAttemptAt) : null,
        },
      }),
    ),
  );
}

/**
 * `main` is the event that receivers wait for: of the others only those that have a delivery are told of. A connection
 * gets a tip that was held when it is approved.
 */
export function receiversMissing(
  facts: ReceiverFacts,
  main: ReadEvent | undefined,
  events: readonly ReadEvent[],
): LaneMissing[] {
  const approved = events.find(({ type }) => type === 'alert.approved');
  return facts.receivers.flatMap((receiver) => {
    const own = facts.deliveries.filter(({ endpointId }) => endpointId === receiver.id);
    const missing = (reason: LaneMissing['reason'], since: number | null, eventId: string): LaneMissing => ({
      ...{ lane: receiver.id, kind: 'webhook', webhook_id: receiver.id, event_id: eventId },
      reason,
      since: toTimestampOrNull(since),
    });
    const ended = own.flatMap((delivery) => {
      const why = endedBecause(receiver, delivery);
      return why ? [missing(why.reason, why.since, delivery.eventId)] : [];
    });
    const awaited = isConnection(receiver) ? (approved ?? main) : main;
    if (!awaited || own.some(({ eventId }) => eventId === awaited.id)) return ended;
    const { reason, since } = neverCreated(receiver, awaited, facts.dispatched);
    return [missing(reason, since, awaited.id), ...ended];
  });
}

const isConnection = ({ minAmountMinor }: Receiver): boolean => minAmountMinor !== null;

interface Why {
  readonly reason: LaneMissing['reason'];
  readonly since: number | null;
}

/** Why a delivery was not sent, or is not sent any more; nothing if its attempts tell. */
function endedBecause(
  receiver: Receiver,
  { status, attemptCount, grantEndedAt, createdAt }: EventDelivery,
): Why | null {
  switch (status) {
    case 'succeeded':
      return null;
    case 'pending':
      return attemptCount === 0 ? { reason: 'waiting', since: createdAt } : null;
    case 'failed':
      return attemptCount === 0 ? { reason: 'not_kept', since: null } : null;
    case 'skipped':
      return { reason: 'disabled', since: receiver.disabledAt };
    case 'cancelled':
      if (grantEndedAt !== null) return { reason: 'grant_ended', since: grantEndedAt };
      // The tip was voided before it was sent.
      if (isConnection(receiver)) return { reason: 'not_shown', since: null };
      return { reason: receiver.kind === 'listener' ? 'listener_closed' : 'not_permitted', since: null };
  }
}

/** Why an event has no delivery to a receiver. */
function neverCreated(receiver: Receiver, event: ReadEvent, dispatched: number): Why {
  const { createdAt, grantedAt, types } = receiver;
  const { at, type, sequence } = event;
  if (createdAt > at) return { reason: 'added_later', since: createdAt };
  if (grantedAt === null) return { reason: 'not_permitted', since: null };
  if (grantedAt > at) return { reason: 'added_later', since: grantedAt };
  if (types !== null && !types.includes(type)) return { reason: 'type_not_chosen', since: null };
  if (receiver.minAmountMinor !== null) {
    const { tip, alert } = event.data;
    const amount = (tip ?? alert)?.amount_minor;
    if (amount === undefined) return { reason: 'type_not_chosen', since: null };
    if (tip && isWithheld(type, tip.alert?.status)) return { reason: 'not_shown', since: null };
    if (amount < receiver.minAmountMinor) return { reason: 'below_minimum', since: null };
  }
  if (dispatched < sequence) return { reason: 'waiting', since: at };
  return { reason: receiver.kind === 'listener' ? 'listener_closed' : 'not_kept', since: null };
}

import { createPauses } from '../../../platform/pauses.ts';
import type { Platform } from '../../../platform/platform.ts';
import { type EventLog, overlayTreatments, type StoredEvent, type StoredSkipReason } from '../../events/index.ts';
import type { Overlays } from '../../overlay/index.ts';
import type { AppConnection, Streams } from '../../sockets/index.ts';
import type { Tip, Tips } from '../../tips/index.ts';
import type { Delivery, DeliveryStatus, Webhooks } from '../../webhooks/index.ts';
import type { OwnedSandbox } from '../service.ts';
import { type ConsoleDelivery, deliveriesSince } from './repo.ts';

export interface ReportParts extends Pick<Platform, 'db'> {
  readonly events: EventLog;
  readonly tips: Tips;
  readonly overlays: Overlays;
  readonly presence: { readonly connected: (creatorId: string) => Promise<number> };
  readonly streams: Pick<Streams, 'ofApps'>;
  readonly webhooks: Pick<Webhooks, 'dispatchedUpTo' | 'receivers'>;
}

/** What each receiver has done with the newest events, newest first. */
export interface Report {
  readonly overlays: number;
  readonly paused: boolean;
  readonly hidden: boolean;
  readonly connections: readonly AppConnection[];
  /** The sequence of the newest event. */
  readonly newest: number;
  readonly events: readonly ReportedEvent[];
}

export interface ReportedEvent {
  readonly id: string;
  readonly sequence: number;
  readonly type: string;
  readonly createdAt: string;
  /** As every receiver gets it. */
  readonly body: string;
  /** The tip or test alert that it is about, as it was sent. */
  readonly about: { readonly name: string; readonly amountMinor: number } | null;
  /** Why an alert was skipped, or the title of a goal. */
  readonly note: string | null;
  /** Overlays do not get this type, or it only tells them of another event. */
  readonly overlay: OverlayState | null;
  /** Connections that are open now and have been sent the event. */
  readonly reached: readonly AppConnection[];
  /** Whether its deliveries have been made; until then there are none. */
  readonly dispatched: boolean;
  readonly deliveries: readonly EventDelivery[];
  readonly next: readonly NextAction[];
}

/**
 * `waiting`: it plays when an overlay is open and neither paused nor hidden. `approved`: the event of the approval waits in
 * its place.
 */
export interface OverlayState {
  readonly state: 'shown' | 'skipped' | 'expired' | 'held' | 'approved' | 'waiting' | 'voided' | 'unplayed';
  readonly at: string | null;
  readonly reason: StoredSkipReason | null;
}

export interface EventDelivery {
  readonly id: string;
  readonly webhookId: string;
  readonly clientId: string;
  readonly appName: string;
  /** `null` for a listener. */
  readonly url: string | null;
  readonly status: DeliveryStatus;
  /** The newest ones, and how many were before them. */
  readonly attempts: Delivery['attempts'];
  readonly earlierAttempts: number;
  readonly nextAttemptAt: number | null;
}

/** A button beside an event: what to send next. */
export interface NextAction {
  readonly name: 'show' | 'skip' | 'approve' | 'reject' | 'replay' | 'void';
  readonly request: Readonly<Record<string, unknown>>;
}

/** The newest events, fewer of them if each goes to many receivers: a page of thousands of deliveries takes seconds. */
const most = { events: 20, deliveries: 200, attempts: 5 };

/** Reads what is known of each receiver. Apps, webhooks and bodies are the developer's own, so nothing is left out. */
export function createReport({ db, events, tips, overlays, presence, streams, webhooks }: ReportParts) {
  async function tipsOf(creatorId: string, stored: readonly Parsed[]): Promise<ReadonlyMap<string, KnownTip>> {
    const ids = new Set(stored.flatMap(({ data }) => data.tip?.id ?? []));
    const known = [...ids].map(async (id): Promise<[string, KnownTip]> => {
      const { tip, reason } = await tips.history(creatorId, id);
      return [id, { tip, reason }];
    });
    return new Map(await Promise.all(known));
  }

  return async ({ id: creatorId, developerId }: OwnedSandbox): Promise<Report> => {
    const pause = createPauses(developerId);
    const head = (await events.head(creatorId))?.sequence ?? 0;
    const receivers = await webhooks.receivers(creatorId, null);
    const listed = Math.min(most.events, Math.ceil(most.deliveries / Math.max(1, receivers.length)));
    const stored = (await events.after(creatorId, Math.max(0, head - listed), listed)).map(parse).reverse();
    const oldest = stored.map(({ id }) => id).sort()[0];
    // Before the deliveries: what is dispatched by then is among them. Without webhooks nothing is.
    const dispatched = receivers.length === 0 ? head : await webhooks.dispatchedUpTo(creatorId);
    await pause();
    const [known, deliveries, overlay, open] = await Promise.all([
      tipsOf(creatorId, stored),
      oldest === undefined ? [] : deliveriesSince(db, creatorId, developerId, oldest),
      overlays.get(creatorId),
      presence.connected(creatorId),
    ]);
    const connections = streams.ofApps(creatorId);
    const shownAlerts = new Map(stored.flatMap(({ data }) => (data.alert_id ? [[data.alert_id, data.shown_at]] : [])));
    const reported: ReportedEvent[] = [];
    for (const event of stored) {
      const tip = known.get(event.data.tip?.id ?? '');
      const state = overlayState(event, tip, shownAlerts);
      const sent: EventDelivery[] = [];
      for (const delivery of deliveries.filter(({ event_id }) => event_id === event.id)) {
        // A delivery may have twenty attempts with what the receiver answered.
        await pause();
        sent.push(toDelivery(delivery));
      }
      reported.push({
        ...event.shared,
        overlay: state,
        reached: connections.filter(({ after, upTo }) => event.sequence > after && event.sequence <= upTo),
        dispatched: event.sequence <= dispatched,
        deliveries: sent,
        next: nextActions(event, tip, state),
      });
    }
    return {
      overlays: open,
      paused: overlay.paused,
      hidden: overlay.hidden,
      connections,
      newest: head,
      events: reported,
    };
  };
}

interface KnownTip {
  readonly tip: Tip;
  readonly reason: StoredSkipReason | null;
}

type Parsed = ReturnType<typeof parse>;

function parse({ sequence, type, body, screened }: StoredEvent) {
  const { id, created_at: createdAt, data } = JSON.parse(body);
  const subject = data.tip ?? data.alert;
  const about = subject ? { name: subject.display_name ?? subject.name, amountMinor: subject.amount_minor } : null;
  const note: string | null = data.goal?.title ?? data.reason ?? null;
  const held: boolean = screened !== null && JSON.parse(screened).held;
  return { id, sequence, type, data, held, shared: { id, sequence, type, createdAt, body, about, note } };
}

/** Of an event that overlays play. A tip that was held is played by the event of its approval. */
function overlayState(
  { type, data, held }: Parsed,
  known: KnownTip | undefined,
  shownAlerts: ReadonlyMap<string, string | null>,
): OverlayState | null {
  const state = (state: OverlayState['state'], at: string | null = null, reason: OverlayState['reason'] = null) => ({
    state,
    at,
    reason,
  });
  if (overlayTreatments.get(type) !== 'play' || type === 'alert.replayed') return null;
  if (data.alert) {
    if (held) return state('held');
    const shownAt = shownAlerts.get(data.alert.id);
    return shownAt ? state('shown', shownAt) : state('unplayed');
  }
  if (!known) return null;
  const { tip, reason } = known;
  if (tip.alert.status === 'queued') return state(type === 'tip.created' && wasHeld(data) ? 'approved' : 'waiting');
  if (tip.alert.status === 'skipped') return state(reason === 'voided' ? 'voided' : 'skipped', null, reason);
  return state(tip.alert.status, tip.alert.shown_at);
}

const wasHeld = (data: { tip?: Tip }): boolean => data.tip?.alert.status === 'held';

function nextActions(event: Parsed, known: KnownTip | undefined, overlay: OverlayState | null): NextAction[] {
  const { type, sequence } = event;
  const show: NextAction = { name: 'show', request: { type: 'alert.shown', sequence } };
  const replay: NextAction = { name: 'replay', request: { type: 'alert.replayed', sequence } };
  if (type === 'alert.test') return overlay?.state === 'unplayed' ? [show, replay] : overlay?.at ? [replay] : [];
  if (!known || known.tip.status === 'voided') return [];
  const { id: tip_id } = known.tip;
  const skip: NextAction = { name: 'skip', request: { type: 'alert.skipped', tip_id } };
  if (type === 'alert.approved') return overlay?.state === 'waiting' ? [show, skip] : [];
  if (type !== 'tip.created') return [];
  const decide: NextAction[] = [
    { name: 'approve', request: { type: 'alert.approved', tip_id } },
    { name: 'reject', request: { type: 'alert.skipped', tip_id, reason: 'rejected' } },
  ];
  const voiding: NextAction = { name: 'void', request: { type: 'tip.voided', tip_id } };
  if (known.tip.alert.status === 'held') return [...decide, voiding];
  if (overlay?.state === 'waiting') return [show, skip, voiding];
  return overlay?.state === 'shown' || overlay?.state === 'expired' ? [replay, voiding] : [voiding];
}

function toDelivery(row: ConsoleDelivery): EventDelivery {
  const attempts: Delivery['attempts'] = JSON.parse(row.attempts);
  return {
    id: row.id,
    webhookId: row.endpoint_id,
    clientId: row.client_id,
    appName: row.app_name,
    url: row.kind === 'listener' ? null : row.url,
    status: row.status,
    attempts: attempts.slice(-most.attempts),
    earlierAttempts: Math.max(0, attempts.length - most.attempts),
    nextAttemptAt: row.due_at,
  };
}

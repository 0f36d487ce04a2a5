/** The steps of a tip at the server and on the overlay, and why the overlay has not shown it. */
import { toTimestamp, toTimestampOrNull } from '../../platform/clock.ts';
import type { AlertFacts, LaneMissing, LaneStep, OverlayFacts, ReadEvent, Reader } from './model.ts';

export const eventStep = ({ id, type, sequence, at }: ReadEvent): LaneStep => ({
  lane: 'server',
  at: toTimestamp(at),
  kind: 'event',
  outcome: null,
  detail: { id, type, sequence },
});

/** In an order that a sort by time keeps for what has the same time. */
export function tipSteps(
  facts: AlertFacts,
  events: readonly ReadEvent[],
  overlay: OverlayFacts,
  reader: Reader,
): LaneStep[] {
  const { tip, approvedAt } = facts;
  const [own, later] = [
    events.filter(({ type }) => type === 'tip.created'),
    events.filter(({ type }) => type !== 'tip.created'),
  ];
  const steps: LaneStep[] = [recorded(facts, reader), ...own.map(eventStep)];
  const plain = (at: string, kind: 'approved' | 'rejected'): LaneStep => ({
    ...{ lane: 'server', at, outcome: null, detail: {} },
    kind,
  });
  if (wasHeld(facts, own)) {
    const detail = { reason: facts.heldBy };
    steps.push({ lane: 'server', at: tip.created_at, kind: 'held', outcome: null, detail });
  }
  if (approvedAt !== null) steps.push(plain(toTimestamp(approvedAt), 'approved'));
  if (facts.reason === 'rejected') steps.push(plain(settledAt(facts, later), 'rejected'));
  steps.push(...outcome(facts, later, overlay));
  if (tip.voided_at !== null) {
    const detail = { reason: tip.void_reason };
    steps.push({ lane: 'server', at: tip.voided_at, kind: 'voided', outcome: null, detail });
  }
  return [...steps, ...later.flatMap((event) => [eventStep(event), ...replayStep(event, overlay)])];
}

function replayStep({ type, at }: ReadEvent, overlay: OverlayFacts): LaneStep[] {
  if (type !== 'alert.replayed') return [];
  const detail = { overlay_open: isOpenAt(overlay, at) };
  return [{ lane: 'overlay', at: toTimestamp(at), kind: 'replay', outcome: null, detail }];
}

function recorded({ tip, requestId }: AlertFacts, reader: Reader): LaneStep {
  const own = typeof reader === 'string' || reader.clientId === tip.source.client_id;
  const detail = { source: tip.source, request_id: own ? requestId : null };
  return { lane: 'server', at: tip.created_at, kind: 'recorded', outcome: null, detail };
}

const wasHeld = ({ tip, heldBy, approvedAt }: AlertFacts, own: readonly ReadEvent[]): boolean =>
  heldBy !== null || approvedAt !== null || tip.alert.status === 'held' || own[0]?.data.tip?.alert?.status === 'held';

/** When the alert was skipped or has expired. Of tips from before that was kept, not before the tip was recorded. */
function settledAt({ tip, settledAt }: AlertFacts, later: readonly ReadEvent[]): string {
  const skipped = later.find(({ type }) => type === 'alert.skipped');
  return toTimestampOrNull(skipped?.at ?? settledAt) ?? tip.created_at;
}

/** From when on the overlay could show the alert; null if it never could. */
function queuedAt({ tip, approvedAt, heldBy, reason }: AlertFacts): number | null {
  if (approvedAt !== null) return approvedAt;
  return heldBy !== null || reason === 'blocked' || tip.alert.status === 'held' ? null : Date.parse(tip.created_at);
}

const isOpenAt = ({ spans }: OverlayFacts, at: number): boolean =>
  spans.some(({ from, to }) => from <= at && (to === null || to >= at));

function outcome(facts: AlertFacts, later: readonly ReadEvent[], overlay: OverlayFacts): LaneStep[] {
  const { tip, reason, erasedAt } = facts;
  const { status, shown_at } = tip.alert;
  if (status === 'queued' || status === 'held') return [];
  const queued = queuedAt(facts);
  const overlay_open = queued === null ? null : isOpenAt(overlay, queued);
  const at = status === 'shown' && shown_at !== null ? shown_at : settledAt(facts, later);
  const erased = status === 'skipped' && erasedAt !== null && erasedAt === facts.settledAt;
  return [{ lane: 'overlay', at, kind: 'overlay', outcome: status, detail: { reason, overlay_open }, erased }];
}

/** Why the alert has not been shown yet, if nothing is decided about it. */
export function overlayMissing(facts: AlertFacts, overlay: OverlayFacts): LaneMissing[] {
  const { tip } = facts;
  const missing = (reason: LaneMissing['reason'], since: number | null): LaneMissing[] => [
    {
      ...{ lane: 'overlay', kind: 'overlay', webhook_id: null, event_id: null },
      reason,
      since: toTimestampOrNull(since),
    },
  ];
  const stopped = overlay.hidden ? missing('hidden', null) : overlay.paused ? missing('paused', null) : [];
  if (tip.alert.status === 'held') return missing('held', Date.parse(tip.created_at));
  const queued = queuedAt(facts);
  if (tip.alert.status !== 'queued' || queued === null) return [];
  // Decided when an overlay is opened; until then nothing else would help.
  if (tip.amount_minor < overlay.minimumMinor) return missing('too_small', null);
  if (queued < overlay.oldestAt) return missing('too_old', null);
  const last = overlay.spans.at(-1);
  // Both reasons are listed: opening an overlay alone would not help while alerts are paused.
  if (last?.to !== null) return [...missing('no_overlay', last?.to ?? null), ...stopped];
  return stopped.length > 0 ? stopped : missing('waiting', queued);
}

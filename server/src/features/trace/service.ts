/**
 * The trace of a tip, made when it is read from what is stored anyway: the tip, the log, the deliveries. Invariants:
 *
 * - Recording a tip writes nothing for it but the request's id, in the row of the tip. What is decided later is written
 *   where it is decided.
 * - Everything is found by keys: the events of a tip by their subject, the deliveries of an event by endpoint.
 * - One trace can have hundreds of steps, so it is put together in turns of a millisecond (platform/pauses.ts).
 * - A reader gets what is theirs: the queries ask for an app's own endpoints only; no address leaves to a creator.
 */
import { ApiError } from '../../errors.ts';
import type { Clock } from '../../platform/clock.ts';
import { createPauses } from '../../platform/pauses.ts';
import type { Apps } from '../apps/index.ts';
import type { EventLog } from '../events/index.ts';
import type { Tips } from '../tips/index.ts';
import type { Webhooks } from '../webhooks/index.ts';
import { eventSteps } from './event-steps.ts';
import {
  type LaneMissing,
  type LaneStep,
  type OverlayFacts,
  type ProgramFacts,
  type ReadEvent,
  type Reader,
  readEvent,
  type TraceView,
} from './model.ts';
import { programLane, programSteps, programsMissing } from './program-steps.ts';
import { attemptSteps, receiverLane, receiversMissing } from './receiver-steps.ts';
import type { MissingStep, Trace, TraceStep } from './schemas.ts';
import { overlayMissing, tipSteps } from './tip-steps.ts';

export interface TracesParts {
  readonly tips: Tips;
  readonly events: EventLog;
  readonly webhooks: Webhooks;
  readonly apps: Apps;
  readonly overlay: (creatorId: string) => Promise<OverlayFacts>;
  /** The stream keys of a creator, and when each was sent these events. */
  readonly programs: (creatorId: string, sequences: readonly number[]) => Promise<readonly ProgramFacts[]>;
  readonly clock: Clock;
}

export type Traces = ReturnType<typeof createTraces>;

const keptMs = 30 * 86_400_000;
/** A creator can replay an alert without end, and each of them goes to every webhook. */
const maxEvents = 20;
const tipId = /^tip_\w{26}$/;
const eventId = /^evt_\w{26}$/;

export function createTraces({ tips, events, webhooks, apps, overlay, programs, clock }: TracesParts) {
  const notFound = (): ApiError => new ApiError('not_found', { message: 'There is no tip or event with this id.' });

  /** The deliveries of these events to the receivers that the reader may see. */
  async function receivedBy(creatorId: string, eventIds: readonly string[], reader: Reader) {
    const clientId = typeof reader === 'string' ? null : reader.clientId;
    const [all, dispatched] = await Promise.all([
      webhooks.receivers(creatorId, clientId),
      webhooks.dispatchedUpTo(creatorId),
    ]);
    const deliveries = await webhooks.deliveriesOf(creatorId, all, eventIds);
    const reached = new Set(deliveries.map(({ endpointId }) => endpointId));
    // Others learn nothing of an endpoint of an app that neither may receive events nor got this one.
    const receivers = all.filter(({ id, grantedAt }) => clientId !== null || grantedAt !== null || reached.has(id));
    return { receivers, deliveries, dispatched };
  }

  /** What programs with stream keys got of these events. An app learns nothing of them. */
  async function sent(creatorId: string, main: ReadEvent | undefined, all: readonly ReadEvent[], reader: Reader) {
    const sequences = all.map(({ sequence }) => sequence);
    const known = typeof reader === 'string' ? await programs(creatorId, sequences) : [];
    const newest = known.length === 0 ? 0 : ((await events.head(creatorId))?.sequence ?? 0);
    return {
      lanes: known.map(programLane),
      steps: programSteps(known, all),
      missing: programsMissing(known, main, all, newest),
    };
  }

  /** An app without webhooks is told so, unless it can have none. */
  async function noWebhook(reader: Reader): Promise<LaneMissing[]> {
    if (typeof reader === 'string' || (await apps.byId(reader.clientId)).public === 1) return [];
    const nothing = { since: null, webhook_id: null, event_id: null };
    return [{ lane: 'server', kind: 'webhook', reason: 'no_webhook', ...nothing }];
  }

  async function ofTip(creatorId: string, id: string, reader: Reader): Promise<TraceView> {
    const pause = createPauses(creatorId);
    await pause();
    const facts = await tips.history(creatorId, id);
    const { tip, sequence } = facts;
    const [ownEvents, later, overlayFacts] = await Promise.all([
      events.after(creatorId, sequence - 1, 1),
      events.about(creatorId, id, maxEvents),
      overlay(creatorId),
    ]);
    const since = clock() - keptMs;
    const found = [...ownEvents.filter((event) => event.sequence === sequence), ...later]
      .map(readEvent)
      .filter(({ at }) => at >= since);
    const own = found.find(({ type }) => type === 'tip.created');
    const received = await receivedBy(creatorId, eventIdsOf(found), reader);
    const ofPrograms = await sent(creatorId, own, found, reader);
    await pause();
    const steps = [
      ...tipSteps(facts, found, overlayFacts, reader),
      ...attemptSteps(received, found, reader),
      ...ofPrograms.steps,
    ];
    return {
      id,
      tip,
      receivers: [...received.receivers.map((receiver) => receiverLane(receiver, reader)), ...ofPrograms.lanes],
      steps: inOrder(steps, since),
      missing: own
        ? [
            ...overlayMissing(facts, overlayFacts),
            ...(received.receivers.length === 0 ? await noWebhook(reader) : []),
            ...receiversMissing(received, own, found),
            ...ofPrograms.missing,
          ]
        : [],
    };
  }

  return {
    ofTip,

    /** The tip of an event; of one that is about no tip, or only rehearses one, what became of that event. */
    async ofEvent(creatorId: string, id: string, reader: Reader): Promise<TraceView> {
      const found = eventId.test(id) ? await events.byId(id) : undefined;
      if (found?.creator_id !== creatorId) throw notFound();
      const event = readEvent(found);
      const { tip, tip_id, alert, alert_id } = event.data;
      const aboutTip = tip?.id ?? tip_id;
      const ofItsTip = aboutTip ? await ofTip(creatorId, aboutTip, reader) : undefined;
      if (ofItsTip?.steps.some((step) => step.kind === 'event' && step.detail.id === id)) return ofItsTip;
      const subject = alert?.id ?? alert_id;
      const later = subject ? (await events.about(creatorId, subject, maxEvents)).map(readEvent) : [];
      const all = [event, ...later.filter((each) => each.id !== id)];
      const received = await receivedBy(creatorId, eventIdsOf(all), reader);
      const ofPrograms = await sent(creatorId, event, all, reader);
      await createPauses(creatorId)();
      const { steps, missing } = eventSteps(event, all);
      return {
        id,
        tip: null,
        receivers: [...received.receivers.map((receiver) => receiverLane(receiver, reader)), ...ofPrograms.lanes],
        steps: inOrder([...steps, ...attemptSteps(received, all, reader), ...ofPrograms.steps], clock() - keptMs),
        missing: [
          ...missing,
          ...(received.receivers.length === 0 ? await noWebhook(reader) : []),
          ...receiversMissing(received, event, all),
          ...ofPrograms.missing,
        ],
      };
    },

    /** Whose tip or event has this id. */
    async creatorOf(id: string): Promise<string | undefined> {
      if (tipId.test(id)) return tips.creatorOf(id);
      return eventId.test(id) ? (await events.byId(id))?.creator_id : undefined;
    },
  };
}

const eventIdsOf = (events: readonly { readonly id: string }[]): string[] => events.map(({ id }) => id);

/** Left of what is older: that the tip was recorded, the outcome of its alert, and that it was voided. */
const kept: readonly LaneStep['kind'][] = ['recorded', 'overlay', 'voided'];

/** The sort keeps the order of what has the same time. */
const inOrder = (steps: readonly LaneStep[], since: number): LaneStep[] =>
  steps
    .filter(({ kind, at }) => kept.includes(kind) || Date.parse(at) >= since)
    // Timestamps have one form, so their order is that of their texts.
    .sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));

/** As the API answers it. */
export const toTrace = ({ id, steps, missing }: TraceView): Trace => ({
  tip_id: id,
  steps: steps.flatMap(({ lane: _, erased: __, ...step }): TraceStep[] =>
    step.kind === 'program' || step.kind === 'replay' ? [] : [step],
  ),
  missing: missing.flatMap(({ lane: _, kind, reason, ...step }): MissingStep[] =>
    kind === 'program' || reason === 'no_program' ? [] : [{ ...step, kind, reason }],
  ),
});

import type { Static, TSchema } from 'typebox';
import { nullable, Timestamp, taggedUnion } from '../../platform/http/schema.ts';
import { Type } from '../../platform/http/type.ts';
import { holdReasons, type StoredSkipReason, skipReasons, Tip } from '../events/index.ts';

/** A text of a fixed set. */
const oneOf = <T extends string>(values: readonly T[], description?: string) =>
  Type.Unsafe<T>({ type: 'string', enum: values, ...(description ? { description } : {}) });

const oneOfOrNull = <T extends string>(values: readonly T[], description: string) =>
  Type.Unsafe<T | null>({ type: ['string', 'null'], enum: [...values, null], description });

/** Of a kind whose steps all end alike. */
const noOutcome = Type.Null();

function step<Kind extends string, Outcome extends TSchema, Detail extends TSchema>(
  kind: Kind,
  title: string,
  description: string,
  outcome: Outcome,
  detail: Detail,
) {
  return Type.Object({ at: Timestamp, kind: Type.Literal(kind), outcome, detail }, { title, description });
}

const RecordedStep = step(
  'recorded',
  'RecordedStep',
  'The tip was committed',
  noOutcome,
  Type.Object({
    source: Tip.properties.source,
    request_id: nullable(
      Type.String({
        description: 'The X-Request-Id of the request that recorded the tip; null unless your app sent it',
        examples: ['req_01kaxk2t5v7f9sd3n8q6w4y0zr'],
      }),
    ),
  }),
);

const EventStep = step(
  'event',
  'EventStep',
  'An event about the tip entered the log, for sockets, streams and webhooks',
  noOutcome,
  Type.Object({
    id: Type.String({ examples: ['evt_01kaxk2t5v7f9sd3n8q6w4y0zr'] }),
    type: Type.String({ examples: ['tip.created'] }),
    sequence: Type.Integer(),
  }),
);

const HeldStep = step(
  'held',
  'HeldStep',
  'The creator’s screening held the tip for approval',
  noOutcome,
  Type.Object({
    reason: oneOfOrNull(
      holdReasons,
      'The rule that held it; `everything`: all tips are held; `new_name`: a name that is not known; `amount`: a large one',
    ),
  }),
);

const ApprovedStep = step('approved', 'ApprovedStep', 'A held tip was approved', noOutcome, Type.Object({}));
const RejectedStep = step('rejected', 'RejectedStep', 'A held tip was rejected', noOutcome, Type.Object({}));

const OverlayStep = step(
  'overlay',
  'OverlayStep',
  'What became of the alert',
  oneOf(['shown', 'skipped', 'expired']),
  Type.Object({
    reason: oneOfOrNull<StoredSkipReason>(
      [...skipReasons, 'blocked'],
      'Why it was skipped; null if it was shown or has expired',
    ),
    overlay_open: Type.Unsafe<boolean | null>({
      type: ['boolean', 'null'],
      description: 'Whether an overlay was open when the alert was queued; null if it never was, or is no longer known',
    }),
  }),
);

const WebhookStep = step(
  'webhook',
  'WebhookStep',
  'One attempt to deliver an event to one of your app’s webhooks',
  oneOf(['succeeded', 'failed']),
  Type.Object({
    webhook_id: Type.String({ examples: ['whk_01kaxk2t5v7f9sd3n8q6w4y0zr'] }),
    delivery_id: Type.String({ examples: ['dlv_01kaxk2t5v7f9sd3n8q6w4y0zr'] }),
    event_id: Type.String(),
    event_type: Type.String(),
    attempt: Type.Integer({ description: 'Counts from 1, among those that are kept' }),
    status_code: nullable(Type.Integer({ description: 'null if there was no answer' })),
    duration_ms: Type.Integer(),
    error: nullable(Type.String({ description: 'Why it failed; null after a success' })),
    next_attempt_at: nullable(Timestamp),
  }),
);

const VoidedStep = step(
  'voided',
  'VoidedStep',
  'The tip was taken back',
  noOutcome,
  Type.Object({ reason: nullable(Type.String()) }),
);

const TraceStepUnion = taggedUnion(
  'TraceStep',
  'Something that happened to a tip. Kinds may be added: pass over those you do not know',
  [RecordedStep, EventStep, HeldStep, ApprovedStep, RejectedStep, OverlayStep, WebhookStep, VoidedStep],
  'kind',
);

/** Why something has not happened, in the words of the API document. */
const missingReasons = {
  held: 'the tip waits for approval',
  no_overlay: 'no overlay is open',
  too_small: 'the amount is below the creator’s smallest amount for alerts',
  too_old: 'it waited longer than the creator lets alerts wait',
  hidden: 'the creator hides all alerts',
  paused: 'the creator has paused alerts',
  waiting: 'it is on its way, or waits its turn',
  no_webhook: 'your app has no webhook',
  not_permitted: 'your app may not receive events of this creator (`events.subscribe`)',
  type_not_chosen: 'the webhook is for other types of events',
  added_later: 'the webhook, or the connection of the creator, is newer than the event',
  listener_closed: 'the listener was not open',
  disabled: 'the webhook is switched off',
  grant_ended: 'the creator has disconnected the app',
  below_minimum: 'the amount is below the smallest amount of the connection',
  not_shown: 'connections are told only of tips that may be shown',
  not_kept: 'the log of deliveries no longer has it',
} as const;
export type MissingReason = keyof typeof missingReasons;

const Missing = Type.Object(
  {
    kind: oneOf(['overlay', 'webhook']),
    reason: Type.Unsafe<MissingReason>({
      type: 'string',
      enum: Object.keys(missingReasons),
      description: Object.entries(missingReasons)
        .map(([reason, words]) => `\`${reason}\`: ${words}`)
        .join('; '),
    }),
    since: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      format: 'date-time',
      description: 'Since when that is so: the webhook was switched off, the last overlay was closed; null if unknown',
    }),
    webhook_id: nullable(Type.String()),
    event_id: nullable(Type.String()),
  },
  { title: 'MissingStep', description: 'Something that has not happened, and why' },
);

export const Trace = Type.Object(
  {
    tip_id: Type.String({ examples: ['tip_01kaxk2t5v7f9sd3n8q6w4y0zr'] }),
    steps: Type.Array(TraceStepUnion, { description: 'In order of time' }),
    missing: Type.Array(Missing, { description: 'What has not happened, and why' }),
  },
  { title: 'Trace' },
);

export type TraceStep =
  | Static<typeof RecordedStep>
  | Static<typeof EventStep>
  | Static<typeof HeldStep>
  | Static<typeof ApprovedStep>
  | Static<typeof RejectedStep>
  | Static<typeof OverlayStep>
  | Static<typeof WebhookStep>
  | Static<typeof VoidedStep>;

export type MissingStep = Static<typeof Missing>;

export interface Trace {
  readonly tip_id: string;
  readonly steps: readonly TraceStep[];
  readonly missing: readonly MissingStep[];
}

const at = (seconds: number): string => new Date(Date.UTC(2026, 10, 15, 4, 0, seconds)).toISOString();

export const traceExample: Trace = {
  tip_id: 'tip_01kaxk2t5v7f9sd3n8q6w4y0zr',
  steps: [
    {
      at: at(0),
      kind: 'recorded',
      outcome: null,
      detail: {
        source: { type: 'api', client_id: 'app_01kaxk2t5w2m8r4c6x1z3b5d7f', app_name: 'Goal Bot' },
        request_id: 'req_01kaxk2t5tq7m3c9v5x1z8b4dh',
      },
    },
    {
      at: at(0),
      kind: 'event',
      outcome: null,
      detail: { id: 'evt_01kaxk2t5v7f9sd3n8q6w4y0zr', type: 'tip.created', sequence: 41 },
    },
    {
      at: at(1),
      kind: 'webhook',
      outcome: 'failed',
      detail: {
        webhook_id: 'whk_01kaxk2t5v7f9sd3n8q6w4y0zr',
        delivery_id: 'dlv_01kaxk2t5v7f9sd3n8q6w4y0zr',
        event_id: 'evt_01kaxk2t5v7f9sd3n8q6w4y0zr',
        event_type: 'tip.created',
        attempt: 1,
        status_code: 503,
        duration_ms: 84,
        error: 'answered 503',
        next_attempt_at: at(6),
      },
    },
  ],
  missing: [{ kind: 'overlay', reason: 'no_overlay', since: at(-600), webhook_id: null, event_id: null }],
};

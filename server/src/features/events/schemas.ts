import type { Static } from 'typebox';
import { nullable, Timestamp } from '../../platform/http/schema.ts';
import { Type } from '../../platform/http/type.ts';

/**
 * The records that events carry. They are in the lowest feature, because the table of event types refers to them.
 */
export const alertStatuses = ['held', 'queued', 'shown', 'skipped', 'expired'] as const;
export type AlertStatus = (typeof alertStatuses)[number];

const tipSources = ['api', 'creator', 'cli'] as const;
export const tipStatuses = ['recorded', 'voided'] as const;
export type TipStatus = (typeof tipStatuses)[number];

export const skipReasons = ['by_creator', 'below_minimum', 'rejected', 'held_too_long', 'voided'] as const;
export type SkipReason = (typeof skipReasons)[number];
/** A blocked tip is skipped when it is recorded, and no event reports it. */
export type StoredSkipReason = SkipReason | 'blocked';

/** The rule of the creator's screening that held a tip. */
export const holdReasons = ['word_list', 'links', 'numbers', 'everything', 'new_name', 'amount'] as const;
export type HoldReason = (typeof holdReasons)[number];

export const grantEndReasons = ['creator', 'app', 'operator', 'app_deleted', 'account_deleted'] as const;
export type GrantEndReason = (typeof grantEndReasons)[number];

export const Tip = Type.Object(
  {
    id: Type.String({ examples: ['tip_01kaxk2t5v7f9sd3n8q6w4y0zr'] }),
    status: Type.Unsafe<TipStatus>({ type: 'string', enum: tipStatuses }),
    amount: Type.Number({ description: 'In baht', examples: [150.5] }),
    amount_minor: Type.Integer({ description: 'The same in satang', examples: [15050] }),
    currency: Type.Literal('THB'),
    name: Type.String(),
    display_name: nullable(Type.String({ description: 'Shown in place of name where it is set' })),
    message: nullable(Type.String()),
    source: Type.Object({
      type: Type.Unsafe<(typeof tipSources)[number]>({
        type: 'string',
        enum: tipSources,
        description: 'An app, the creator by hand, or the command line',
      }),
      client_id: nullable(Type.String()),
      app_name: nullable(Type.String()),
    }),
    alert: Type.Object({
      status: Type.Unsafe<AlertStatus>({ type: 'string', enum: alertStatuses }),
      shown_at: nullable(Timestamp),
      name: Type.String({ description: 'The name that may be shown in public, after the creator’s screening' }),
      message: nullable(
        Type.String({ description: 'The message that may be shown in public; null if there is none or it is hidden' }),
      ),
    }),
    voided_at: nullable(Timestamp),
    void_reason: nullable(Type.String({ description: 'What was said when the tip was voided' })),
    created_at: Timestamp,
  },
  { title: 'Tip' },
);

export const Alert = Type.Object(
  {
    id: Type.String({ examples: ['alt_01kaxk2t5v7f9sd3n8q6w4y0zr'] }),
    type: Type.Literal('alert.test'),
    name: Type.String(),
    display_name: nullable(Type.String()),
    amount: Type.Number(),
    amount_minor: Type.Integer(),
    currency: Type.Literal('THB'),
    message: nullable(Type.String()),
    overlays_connected: Type.Integer({ description: 'How many overlays were open to show it' }),
    created_at: Timestamp,
  },
  { title: 'Alert' },
);

export const Goal = Type.Object(
  {
    id: Type.String({ examples: ['gol_01kaxk2t5v7f9sd3n8q6w4y0zr'] }),
    title: Type.String(),
    target: Type.Number({ description: 'In baht' }),
    target_minor: Type.Integer({ description: 'The same in satang' }),
    raised: Type.Number({ description: 'Tips from starts_at until before ends_at, less those that were voided' }),
    raised_minor: Type.Integer(),
    currency: Type.Literal('THB'),
    starts_at: Timestamp,
    ends_at: nullable(Timestamp),
    reached_at: nullable(Type.String({ format: 'date-time', description: 'Stays, also if a tip is voided later' })),
  },
  { title: 'Goal' },
);

export const AlertOutcome = Type.Object(
  {
    tip_id: nullable(Type.String()),
    alert_id: nullable(Type.String()),
    shown_at: nullable(Timestamp),
    reason: nullable(
      Type.Unsafe<SkipReason>({
        type: 'string',
        enum: [...skipReasons, null],
        description: 'Why the alert was not shown; null if it was',
      }),
    ),
  },
  { title: 'AlertOutcome', description: 'What became of an alert. Fields that do not apply are null' },
);

export type Tip = Static<typeof Tip>;
export type Alert = Static<typeof Alert>;
export type Goal = Static<typeof Goal>;

export const tipExample: Tip = {
  id: 'tip_01kaxk2t5v7f9sd3n8q6w4y0zr',
  status: 'recorded',
  amount: 150.5,
  amount_minor: 15050,
  currency: 'THB',
  name: 'SOMCHAI',
  display_name: 'สมชาย',
  message: 'Great stream!',
  source: { type: 'api', client_id: 'app_01kaxk2t5w2m8r4c6x1z3b5d7f', app_name: 'Goal Bot' },
  alert: { status: 'queued', shown_at: null, name: 'สมชาย', message: 'Great stream!' },
  voided_at: null,
  void_reason: null,
  created_at: '2026-11-15T04:00:00.000Z',
};

export const voidedTipExample: Tip = {
  ...tipExample,
  status: 'voided',
  alert: { ...tipExample.alert, status: 'skipped' },
  voided_at: '2026-11-15T04:05:00.000Z',
  void_reason: 'Refunded',
};

/** The fields that a tip of an event lacks if the event was stored before they existed. */
type LaterField = 'status' | 'voided_at' | 'void_reason';

/** A tip as a stored event carries it. */
type StoredTip = Omit<Tip, LaterField | 'alert'> &
  Partial<Pick<Tip, LaterField>> & {
    readonly alert: Pick<Tip['alert'], 'status' | 'shown_at'> & Partial<Tip['alert']>;
  };

/** The tip of a stored event with all of today's fields. One that has them stays as it is, to the byte. */
export function readStoredTip(stored: StoredTip): Tip {
  if (isComplete(stored)) return stored;
  const { name, display_name, message, alert } = stored;
  return {
    ...{ status: 'recorded', voided_at: null, void_reason: null },
    ...stored,
    alert: { name: display_name ?? name, message, ...alert },
  };
}

const isComplete = (tip: StoredTip): tip is Tip => tip.status !== undefined && tip.alert.name !== undefined;

export const goalExample: Goal = {
  id: 'gol_01kaxk2t5v7f9sd3n8q6w4y0zr',
  title: 'New microphone',
  target: 3000,
  target_minor: 300000,
  raised: 3050.5,
  raised_minor: 305050,
  currency: 'THB',
  starts_at: '2026-11-01T00:00:00.000Z',
  ends_at: null,
  reached_at: '2026-11-15T04:00:00.000Z',
};

export const alertExample: Alert = {
  id: 'alt_01kaxk2t5v7f9sd3n8q6w4y0zr',
  type: 'alert.test',
  name: 'SOMCHAI',
  display_name: null,
  amount: 99,
  amount_minor: 9900,
  currency: 'THB',
  message: 'Testing',
  overlays_connected: 1,
  created_at: '2026-11-15T04:00:00.000Z',
};

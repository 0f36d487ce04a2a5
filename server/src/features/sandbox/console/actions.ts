/**
 * What the console can send: for each event type the fields of the request, and how the event is caused. Nothing is
 * written into the log here. Each action calls the service that a creator's pages, an overlay or an app call, so that
 * what a real creator cannot cause is not possible here either.
 */
import type { Static, TObject } from 'typebox';
import { ApiError } from '../../../errors.ts';
import type { ErrorDetail } from '../../../platform/http/http-error.ts';
import { nullable } from '../../../platform/http/schema.ts';
import { Type } from '../../../platform/http/type.ts';
import { createCheck } from '../../../platform/http/validation.ts';
import type { LimitRule } from '../../../platform/limiter/limiter.ts';
import type { Platform } from '../../../platform/platform.ts';
import { type Alerts, alertRequest, pageAlertLimit } from '../../alerts/index.ts';
import type { EventLog, SandboxEventType } from '../../events/index.ts';
import { type Goals, maxTargetMinor, maxTitle } from '../../goals/index.ts';
import { limits } from '../../oauth/index.ts';
import type { Overlays } from '../../overlay/index.ts';
import { maxVoidReason, type TipRules, type Tips, tipRequest } from '../../tips/index.ts';
import type { OwnedSandbox, Sandbox } from '../service.ts';

export interface ActionParts extends Pick<Platform, 'limiter'> {
  readonly tips: Tips;
  readonly alerts: Alerts;
  readonly overlays: Overlays;
  readonly goals: Goals;
  readonly events: EventLog;
  readonly sandbox: Pick<Sandbox, 'disconnect'>;
  readonly rules: TipRules;
}

/** Why nothing was sent. */
type Refusal =
  | 'too_fast'
  | 'not_found'
  | 'not_queued'
  | 'not_held'
  | 'not_played'
  | 'not_below_minimum'
  | 'voided_before'
  | 'nothing_raised'
  | 'too_many_goals'
  | 'not_connected';

/** `later`: a goal was made, and its event follows once tips reach it. */
export type Outcome = 'sent' | 'later' | Refusal;

/** Acknowledges in place of an overlay page. */
const consoleInstance = '00000000-0000-4000-8000-000000000000';

const tipId = Type.String({ pattern: '^tip_\\w{26}$', 'x-rule': 'must be the id of a tip' });
const sequence = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });

export interface Action {
  /** The names of the request's fields, without its type. */
  readonly fields: readonly string[];
  /** Runs only if the fields break no rule. */
  run(creator: OwnedSandbox, fields: unknown): Promise<Outcome | readonly ErrorDetail[]>;
}

function action<Schema extends TObject>(
  schema: Schema,
  run: (creator: OwnedSandbox, body: Static<Schema>) => Promise<Outcome>,
): Action {
  const check = createCheck(schema);
  const isValid = (body: unknown): body is Static<Schema> => check(body).length === 0;
  return {
    fields: Object.keys(schema.properties),
    run: async (creator, body) => (isValid(body) ? run(creator, body) : check(body)),
  };
}

export function createActions({ limiter, tips, alerts, overlays, goals, events, sandbox, rules }: ActionParts) {
  /** Whether the limits of an app allow it. */
  async function isAllowed(kind: 'tip' | 'alert' | 'void', { id }: OwnedSandbox): Promise<boolean> {
    const rules: Record<typeof kind, [key: string, rule: LimitRule]> = {
      tip: [`dashboard-tip:${id}`, limits.tips],
      alert: pageAlertLimit(id),
      void: [`sandbox-void:${id}`, limits.voids],
    };
    return (await limiter.take(...rules[kind])).allowed;
  }

  /** As a page of the overlay reports it. Returns whether the alert of this event was waiting to be played. */
  async function acknowledge(
    { id }: OwnedSandbox,
    sequence: number,
    outcome: 'shown' | 'below_minimum',
  ): Promise<boolean> {
    const before = await events.head(id);
    await overlays.acknowledge(id, consoleInstance, [{ sequence, outcome, ms: 0 }]);
    const caused = await events.after(id, Math.max(sequence, before?.sequence ?? 0), 100);
    const [event] = await events.after(id, sequence - 1, 1);
    const { tip, alert } = JSON.parse(event?.body ?? '{}').data ?? {};
    return caused.some(({ type, body }) => {
      if (type !== 'alert.shown' && type !== 'alert.skipped') return false;
      const { tip_id, alert_id } = JSON.parse(body).data;
      return tip_id === null ? alert_id === alert?.id : tip_id === tip?.id;
    });
  }

  return {
    'tip.created': action(tipRequest(rules), async (creator, { amount, name, display_name, message }) => {
      if (!(await isAllowed('tip', creator))) return 'too_fast';
      const words = { name, displayName: display_name ?? null, message: message ?? null };
      await tips.record({ creatorId: creator.id, app: 'creator', amount, ...words });
      return 'sent';
    }),

    'alert.test': action(alertRequest(rules), async (creator, { amount, name, display_name, message }) => {
      if (!(await isAllowed('alert', creator))) return 'too_fast';
      await alerts.send({ creatorId: creator.id, amount, name, displayName: display_name, message });
      return 'sent';
    }),

    'alert.replayed': action(Type.Object({ sequence }), async (creator, { sequence }) => {
      if (!(await isAllowed('alert', creator))) return 'too_fast';
      const replayed = async (): Promise<Outcome> => {
        await overlays.replay(creator.id, sequence);
        return 'sent';
      };
      return found(replayed, 'not_played');
    }),

    'alert.shown': action(Type.Object({ sequence }), async (creator, { sequence }) =>
      (await acknowledge(creator, sequence, 'shown')) ? 'sent' : 'not_queued',
    ),

    'alert.skipped': action(
      Type.Object({
        tip_id: tipId,
        reason: Type.Optional(
          Type.Unsafe<'by_creator' | 'rejected' | 'below_minimum'>({
            type: 'string',
            enum: ['by_creator', 'rejected', 'below_minimum'],
          }),
        ),
      }),
      async (creator, { tip_id, reason = 'by_creator' }) => {
        if (reason === 'by_creator') return (await overlays.skip(creator.id, tip_id)) ? 'sent' : 'not_queued';
        if (reason === 'rejected') return (await overlays.reject(creator.id, tip_id)) ? 'sent' : 'not_held';
        return found(async () => {
          const { sequence } = await tips.withSequence(creator.id, tip_id);
          return (await acknowledge(creator, sequence, reason)) ? 'sent' : 'not_below_minimum';
        });
      },
    ),

    'alert.approved': action(Type.Object({ tip_id: tipId }), (creator, { tip_id }) =>
      found(async () => ((await overlays.approve(creator.id, tip_id)) ? 'sent' : 'not_held')),
    ),

    'tip.voided': action(
      Type.Object({ tip_id: tipId, reason: Type.Optional(nullable(Type.String({ maxLength: maxVoidReason }))) }),
      async (creator, { tip_id, reason = null }) => {
        if (!(await isAllowed('void', creator))) return 'too_fast';
        return found(async () => {
          if ((await tips.byId(creator.id, tip_id)).status === 'voided') return 'voided_before';
          await tips.void(creator.id, tip_id, { clientId: null, reason });
          return 'sent';
        });
      },
    ),

    'goal.reached': action(
      Type.Object({
        title: Type.Optional(
          Type.String({ minLength: 1, maxLength: maxTitle, 'x-not-blank': true, 'x-no-controls': true }),
        ),
        target: Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: maxTargetMinor / 100, 'x-decimals': 2 })),
      }),
      async (creator, { title = 'Sandbox', target }) => {
        const raised = (await tips.stats(creator.id)).all_time.total_minor;
        const targetMinor = target === undefined ? raised : Math.round(target * 100);
        if (targetMinor <= 0) return 'nothing_raised';
        const span = { startsAt: creator.created_at, endsAt: null };
        const goal = await goals.add(creator.id, { title, targetMinor, ...span });
        if (!goal) return 'too_many_goals';
        if (goal.reached_at === null) return 'later';
        // Ten at most are open, and this one has done its work.
        await goals.end(creator.id, goal.id);
        return 'sent';
      },
    ),

    'grant.revoked': action(
      Type.Object({
        client_id: Type.String({ pattern: '^app_\\w{26}$', 'x-rule': 'must be the client ID of an app' }),
      }),
      async (creator, { client_id }) =>
        (await sandbox.disconnect(creator.developerId, creator.id, client_id)) ? 'sent' : 'not_connected',
    ),
  } satisfies Record<SandboxEventType, Action>;
}

/** `missing` in place of a 404: nothing of the sandbox creator has this id or sequence. */
async function found(act: () => Promise<Outcome>, missing: Refusal = 'not_found'): Promise<Outcome> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof ApiError && error.code === 'not_found') return missing;
    throw error;
  }
}

import type { EventLog, SkipReason } from '../events/index.ts';
import type { Tip, Tips } from '../tips/index.ts';
import type { Webhooks } from '../webhooks/index.ts';

/** One thing that happened to a tip. `outcome` and the fields of `detail` depend on the kind. */
export type TraceStep = { readonly at: string } & (
  | { readonly kind: 'recorded'; readonly outcome: null; readonly detail: { readonly source: Tip['source'] } }
  | { readonly kind: 'event'; readonly outcome: null; readonly detail: { readonly sequence: number } }
  | {
      readonly kind: 'overlay';
      readonly outcome: 'shown' | 'skipped';
      readonly detail: { readonly reason: SkipReason | 'blocked' | null };
    }
  | { readonly kind: 'held' | 'approved'; readonly outcome: null; readonly detail: Readonly<Record<string, never>> }
  | {
      readonly kind: 'webhook';
      readonly outcome: Awaited<ReturnType<Webhooks['ofEvent']>>[number]['status'];
      readonly detail: { readonly appName: string; readonly attempts: number };
    }
  | { readonly kind: 'voided'; readonly outcome: null; readonly detail: { readonly reason: string | null } }
);

export interface TraceParts {
  readonly tips: Tips;
  readonly events: EventLog;
  readonly webhooks: Webhooks;
}

/** How many events after the tip's own are searched for the outcome of its alert. */
const searchedEvents = 200;

/** What happened to a tip, in order of time. Events are kept 30 days: of an older tip the tip itself tells the rest. */
export function createTrace({ tips, events, webhooks }: TraceParts) {
  return async (creatorId: string, tipId: string): Promise<{ tip: Tip; steps: TraceStep[] }> => {
    const { tip, sequence } = await tips.withSequence(creatorId, tipId);
    const [own, ...later] = await events.after(creatorId, sequence - 1, searchedEvents + 1);
    const steps: TraceStep[] = [
      { at: tip.created_at, kind: 'recorded', outcome: null, detail: { source: tip.source } },
    ];
    if (own?.sequence === sequence) {
      const { id, created_at: at, data } = JSON.parse(own.body);
      steps.push({ at, kind: 'event', outcome: null, detail: { sequence } });
      const screened = data.tip.alert?.status;
      if (screened === 'held') steps.push({ at, kind: 'held', outcome: null, detail: {} });
      // Skipped from the start: no event tells of it.
      if (screened === 'skipped')
        steps.push({ at, kind: 'overlay', outcome: 'skipped', detail: { reason: 'blocked' } });
      for (const { appName, status, attempts, at } of await webhooks.ofEvent(creatorId, id))
        steps.push({ at, kind: 'webhook', outcome: status, detail: { appName, attempts } });
    }
    const about = later.filter(({ body }) => body.includes(tipId)).map(({ body }) => JSON.parse(body));
    const approved = about.find(({ type, data }) => type === 'alert.approved' && data.tip.id === tipId);
    if (approved) steps.push({ at: approved.created_at, kind: 'approved', outcome: null, detail: {} });
    if (tip.alert.shown_at !== null)
      steps.push({ at: tip.alert.shown_at, kind: 'overlay', outcome: 'shown', detail: { reason: null } });
    const skipped = about.find(({ type, data }) => type === 'alert.skipped' && data.tip_id === tipId);
    if (skipped)
      steps.push({
        at: skipped.created_at,
        kind: 'overlay',
        outcome: 'skipped',
        detail: { reason: skipped.data.reason },
      });
    if (tip.voided_at !== null)
      steps.push({ at: tip.voided_at, kind: 'voided', outcome: null, detail: { reason: tip.void_reason } });
    // The sort keeps the order of steps of the same instant.
    return { tip, steps: steps.sort((a, b) => Date.parse(a.at) - Date.parse(b.at)) };
  };
}

import { toTimestamp } from '../../platform/clock.ts';
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

/** How many events after the tip's own are searched for the one that tells when its alert was skipped. */
const searched = { batch: 200, most: 4_000 };

/** What happened to a tip, in order of time. Events are kept 30 days: of an older tip the tip itself tells the rest. */
export function createTrace({ tips, events, webhooks }: TraceParts) {
  async function skippedAt(creatorId: string, tipId: string, sequence: number): Promise<string | undefined> {
    for (let after = sequence; after < sequence + searched.most; after += searched.batch) {
      const batch = await events.after(creatorId, after, searched.batch);
      const found = batch.find(({ type, body }) => type === 'alert.skipped' && body.includes(tipId));
      if (found) return JSON.parse(found.body).created_at;
      if (batch.length < searched.batch) return undefined;
    }
    return undefined;
  }

  return async (creatorId: string, tipId: string): Promise<{ tip: Tip; steps: TraceStep[] }> => {
    const { tip, sequence } = await tips.withSequence(creatorId, tipId);
    const [decision, [own]] = await Promise.all([
      tips.decisionOf(creatorId, tipId),
      events.after(creatorId, sequence - 1, 1),
    ]);
    const { approved_at: approvedAt = null, alert_reason: reason = null } = decision ?? {};
    const steps: TraceStep[] = [
      { at: tip.created_at, kind: 'recorded', outcome: null, detail: { source: tip.source } },
    ];
    if (own?.sequence === sequence) {
      const { id, created_at: at, data } = JSON.parse(own.body);
      steps.push({ at, kind: 'event', outcome: null, detail: { sequence } });
      if (data.tip.alert?.status === 'held') steps.push({ at, kind: 'held', outcome: null, detail: {} });
      for (const { appName, status, attempts, at } of await webhooks.ofEvent(creatorId, id))
        steps.push({ at, kind: 'webhook', outcome: status, detail: { appName, attempts } });
    }
    if (approvedAt !== null) steps.push({ at: toTimestamp(approvedAt), kind: 'approved', outcome: null, detail: {} });
    if (tip.alert.shown_at !== null)
      steps.push({ at: tip.alert.shown_at, kind: 'overlay', outcome: 'shown', detail: { reason: null } });
    if (reason !== null) {
      // A blocked tip is skipped from the start: no event tells of it.
      const at = reason === 'blocked' ? tip.created_at : await skippedAt(creatorId, tipId, sequence);
      if (at !== undefined) steps.push({ at, kind: 'overlay', outcome: 'skipped', detail: { reason } });
    }
    if (tip.voided_at !== null)
      steps.push({ at: tip.voided_at, kind: 'voided', outcome: null, detail: { reason: tip.void_reason } });
    // The sort keeps the order of steps of the same instant.
    return { tip, steps: steps.sort((a, b) => Date.parse(a.at) - Date.parse(b.at)) };
  };
}

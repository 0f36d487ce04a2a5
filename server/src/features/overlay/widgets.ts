/**
 * What widgets show. Each state is read when a widget asks for it, from what is kept with the tips, so it is exact at
 * that moment, and a widget that nobody has open costs nothing.
 */
import type { Platform } from '../../platform/platform.ts';
import type { Goals } from '../goals/index.ts';
import { type Period, periods, type Tips } from '../tips/index.ts';

export const widgetNames = ['goal', 'latest', 'top', 'total'] as const;
export type WidgetName = (typeof widgetNames)[number];

/** The choices in a widget's address. What is missing or unknown gets its default. */
export interface WidgetOptions {
  readonly period: Period;
  readonly count: number;
  /** The goal of the bar. If no open goal has this id: the oldest open one that has begun. */
  readonly goalId: string | null;
}

export type WidgetData =
  | {
      readonly widget: 'goal';
      readonly goal: {
        readonly title: string;
        readonly raisedMinor: number;
        readonly targetMinor: number;
        readonly reached: boolean;
      } | null;
    }
  | { readonly widget: 'latest'; readonly tips: readonly WidgetTip[] }
  | { readonly widget: 'top'; readonly supporters: readonly { readonly name: string; readonly totalMinor: number }[] }
  | { readonly widget: 'total'; readonly totalMinor: number; readonly count: number };

interface WidgetTip {
  readonly name: string;
  readonly amountMinor: number;
  readonly message: string | null;
}

/** `refreshAt`: when the data changes without an event: a day or month ends, a goal begins or ends. */
export type WidgetState = WidgetData & { readonly now: number; readonly refreshAt: number | null };

const maxCount = 10;
const defaultCount = 5;

export function readWidgetOptions(query: URLSearchParams): WidgetOptions {
  const count = /^\d{1,2}$/.test(query.get('count') ?? '') ? Number(query.get('count')) : defaultCount;
  return {
    period: periods.find((period) => period === query.get('period')) ?? 'month',
    count: Math.min(maxCount, Math.max(1, count)),
    goalId: query.get('goal'),
  };
}

export interface WidgetsParts extends Pick<Platform, 'clock' | 'zone'> {
  readonly tips: Tips;
  readonly goals: Goals;
}

export type Widgets = ReturnType<typeof createWidgets>;

export function createWidgets({ tips, goals, clock, zone }: WidgetsParts) {
  const endOf = (period: Period): number | null =>
    period === 'all' ? null : period === 'month' ? zone.month(clock()).endsAt : (zone.lastDays(clock(), 1)[1] ?? null);

  async function goal(creatorId: string, { goalId }: WidgetOptions): Promise<WidgetState> {
    const now = clock();
    const open = await goals.open(creatorId);
    const begun = open.filter(({ starts_at }) => Date.parse(starts_at) <= now);
    const shown = open.find(({ id }) => id === goalId) ?? begun[0];
    const bounds = open.flatMap(({ starts_at, ends_at }) => [starts_at, ends_at ?? []].flat().map(Date.parse));
    const next = bounds.filter((at) => at > now);
    return {
      widget: 'goal',
      goal: shown
        ? {
            title: shown.title,
            raisedMinor: shown.raised_minor,
            targetMinor: shown.target_minor,
            reached: shown.reached_at !== null,
          }
        : null,
      now,
      refreshAt: next.length > 0 ? Math.min(...next) : null,
    };
  }

  async function latest(creatorId: string, { count }: WidgetOptions): Promise<WidgetState> {
    const newest = await tips.latest(creatorId, count);
    return {
      widget: 'latest',
      tips: newest.map((tip) => ({
        name: tip.alert.name,
        amountMinor: tip.amount_minor,
        message: tip.alert.message,
      })),
      now: clock(),
      refreshAt: null,
    };
  }

  async function top(creatorId: string, { period, count }: WidgetOptions): Promise<WidgetState> {
    const supporters = await tips.top(creatorId, period, count);
    return {
      widget: 'top',
      supporters: supporters.map(({ name, totalMinor }) => ({ name, totalMinor })),
      now: clock(),
      refreshAt: endOf(period),
    };
  }

  async function total(creatorId: string, { period }: WidgetOptions): Promise<WidgetState> {
    const sum = await sumOf(creatorId, period);
    return { widget: 'total', ...sum, now: clock(), refreshAt: endOf(period) };
  }

  async function sumOf(creatorId: string, period: Period): Promise<{ totalMinor: number; count: number }> {
    if (period === 'day') {
      const [today] = await tips.days(creatorId, 1);
      return { totalMinor: today?.totalMinor ?? 0, count: today?.count ?? 0 };
    }
    const { all_time, current_month } = await tips.stats(creatorId);
    const { total_minor: totalMinor, count } = period === 'month' ? current_month : all_time;
    return { totalMinor, count };
  }

  const readers = { goal, latest, top, total };
  return {
    state: (creatorId: string, widget: WidgetName, options: WidgetOptions): Promise<WidgetState> =>
      readers[widget](creatorId, options),
  };
}

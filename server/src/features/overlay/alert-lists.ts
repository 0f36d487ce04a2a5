import type { Platform } from '../../platform/platform.ts';
import { displayName } from '../../platform/web/browser/text.ts';
import { type EventLog, type ScreenedAlert, shownWords } from '../events/index.ts';
import { type AlertStatus, allTips, type Tip, type Tips } from '../tips/index.ts';
import type { OverlayRow } from './repo.ts';
import { ageLimit } from './settings.ts';

export interface RecentAlert {
  readonly sequence: number;
  readonly createdAt: string;
  readonly name: string;
  readonly message: string | null;
  readonly amountMinor: number;
  /** Whether it may be played again. */
  readonly replayable: boolean;
  /** Undefined for a test alert. */
  readonly tip: { readonly id: string; readonly status: AlertStatus; readonly voided: boolean } | undefined;
}

/** An alert on the screen. */
export interface PlayingAlert {
  readonly sequence: number;
  readonly until: number;
  readonly test: boolean;
  readonly replay: boolean;
  /** `null` for a test alert. */
  readonly tipId: string | null;
  readonly name: string;
  readonly message: string | null;
  readonly amountMinor: number;
}

/** How many of the newest events are searched for alerts. */
const recentEvents = 100;

interface AlertListsParts extends Pick<Platform, 'clock'> {
  readonly events: EventLog;
  readonly tips: Tips;
  readonly row: (creatorId: string) => Promise<OverlayRow>;
}

/** Lists for the dashboard: the alerts that wait, the one on the screen, and the newest. */
export function createAlertLists({ events, tips, clock, row }: AlertListsParts) {
  return {
    /** Tips whose alerts wait for their turn. */
    async waiting(creatorId: string, limit: number): Promise<Tip[]> {
      return tips.queuedSince(creatorId, ageLimit(await row(creatorId), clock()), limit);
    },

    /** What a page has on its screen now, as far as is known. A void takes a tip off the screen. */
    async playing(creatorId: string): Promise<PlayingAlert | undefined> {
      const { playing_sequence: sequence, playing_until: until } = await row(creatorId);
      if (sequence === null || until <= clock()) return undefined;
      const [event] = await events.after(creatorId, sequence - 1, 1);
      if (event?.sequence !== sequence) return undefined;
      const { data, test, replay } = JSON.parse(event.body);
      const { amount_minor: amountMinor } = data.tip ?? data.alert ?? {};
      if (amountMinor === undefined) return undefined;
      const tipId: string | null = data.tip?.id ?? null;
      if (tipId !== null && (await tips.byId(creatorId, tipId)).status === 'voided') return undefined;
      return { sequence, until, test, replay, tipId, amountMinor, ...shownWords(event) };
    },

    /** Newest first. */
    async recent(creatorId: string, limit: number): Promise<RecentAlert[]> {
      const head = await events.head(creatorId);
      const [stored, { tips: newest }] = await Promise.all([
        events.after(creatorId, Math.max(0, (head?.sequence ?? 0) - recentEvents), recentEvents),
        tips.page(creatorId, allTips, null, limit),
      ]);
      const known = new Map(newest.map((tip) => [tip.id, tip]));
      const shown = stored
        .filter(({ type }) => type === 'tip.created' || type === 'alert.test')
        .slice(-limit)
        .reverse()
        .map((event) => ({ event, body: JSON.parse(event.body) }));
      const showable = await tips.showable(
        creatorId,
        shown.flatMap(({ body }) => body.data.tip?.id ?? []),
      );
      return shown.map(({ event, body }) => {
        const { created_at: createdAt, data } = body;
        const { id, amount_minor: amountMinor } = data.tip ?? data.alert;
        const screened: ScreenedAlert | null = JSON.parse(event.screened ?? 'null');
        const replayable = data.tip ? showable.has(id) : !screened?.held;
        const now = known.get(id);
        const tip = data.tip && {
          id,
          status: now?.alert.status ?? data.tip.alert.status,
          voided: now?.status === 'voided',
        };
        const { name, message } = shownWords(event);
        return { sequence: event.sequence, createdAt, name: displayName(name), message, amountMinor, replayable, tip };
      });
    },
  };
}

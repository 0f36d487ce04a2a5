import type { LimitRule } from '../../platform/limiter/limiter.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Alert, EventLog, EventTrace, ScreenedAlert } from '../events/index.ts';
import { limits } from '../oauth/index.ts';
import { type ScreenTip, writeScreened } from '../tips/index.ts';
import { writes } from './repo.ts';
import { sample } from './schemas.ts';

export interface AlertsParts extends Pick<Platform, 'db' | 'newId'> {
  readonly events: EventLog;
  readonly screen: ScreenTip;
  /** How many overlays of the creator are open now. */
  readonly overlaysConnected: (creatorId: string) => Promise<number>;
}

export interface NewAlert {
  readonly creatorId: string;
  readonly name?: string | null | undefined;
  readonly displayName?: string | null | undefined;
  readonly amount?: number | null | undefined;
  readonly message?: string | null | undefined;
  readonly trace?: EventTrace | undefined;
}

/** Key and rule for alerts that pages send or play again: the limit of an app, shared by all pages of a creator. */
export const pageAlertLimit = (creatorId: string): [key: string, rule: LimitRule] => [
  `dashboard-alert:${creatorId}`,
  limits.alerts,
];

export type Alerts = ReturnType<typeof createAlerts>;

export function createAlerts({ db, events, screen, newId, overlaysConnected }: AlertsParts) {
  async function append(
    { creatorId, trace }: NewAlert,
    unsent: Omit<Alert, 'created_at'>,
  ): Promise<{ alert: Alert; sequence: number; held: boolean }> {
    const { name, display_name: displayName, message, amount_minor: amountMinor } = unsent;
    const unscreened = { name, displayName, message, amountMinor };
    return writeScreened(screen, creatorId, unscreened, async ({ status, shown, version }) => {
      const held = status !== 'queued';
      const words = shown ?? { name: displayName ?? name, message };
      const screened: ScreenedAlert | null = held || shown ? { held, ...words } : null;
      const event = events.prepare({ creatorId, type: 'alert.test', test: true, screened, trace });
      const done = await db.write(writes.appendAlert, event, unsent, version);
      return done === 'rules_changed' ? done : { ...done, held };
    });
  }

  return {
    /**
     * Appends the event of a test alert. No tip is recorded and no statistics change. `held`: no overlay plays it, because
     * the creator's rules hold or block such a tip.
     */
    async send(input: NewAlert): Promise<{ readonly alert: Alert; readonly held: boolean }> {
      const { creatorId } = input;
      const amountMinor = Math.round((input.amount ?? sample.amount) * 100);
      const unsent: Omit<Alert, 'created_at'> = {
        id: newId('alt'),
        type: 'alert.test',
        name: input.name ?? sample.name,
        // The overlay shows display_name in place of name, so the sample must not hide a name of the request.
        display_name: input.displayName ?? (input.name ? null : sample.displayName),
        amount: amountMinor / 100,
        amount_minor: amountMinor,
        currency: 'THB',
        message: input.message ?? sample.message,
        overlays_connected: await overlaysConnected(creatorId),
      };
      const { alert, sequence, held } = await append(input, unsent);
      events.announce(creatorId, sequence);
      return { alert, held };
    },
  };
}

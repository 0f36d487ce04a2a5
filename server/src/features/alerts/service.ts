import type { Platform } from '../../platform/platform.ts';
import type { Alert, EventLog } from '../events/index.ts';
import { writes } from './repo.ts';
import { sample } from './schemas.ts';

export interface AlertsParts extends Pick<Platform, 'db' | 'newId'> {
  readonly events: EventLog;
  /** How many overlays of the creator are open now. */
  readonly overlaysConnected: (creatorId: string) => Promise<number>;
}

export interface NewAlert {
  readonly creatorId: string;
  readonly name?: string | null | undefined;
  readonly displayName?: string | null | undefined;
  readonly amount?: number | null | undefined;
  readonly message?: string | null | undefined;
}

export type Alerts = ReturnType<typeof createAlerts>;

export function createAlerts({ db, events, newId, overlaysConnected }: AlertsParts) {
  return {
    /** Appends the event of a test alert. No tip is recorded and no statistics change. */
    async send(input: NewAlert): Promise<Alert> {
      const amountMinor = Math.round((input.amount ?? sample.amount) * 100);
      const event = events.prepare({ creatorId: input.creatorId, type: 'alert.test', test: true });
      const { alert, sequence } = await db.write(writes.appendAlert, event, {
        id: newId('alt'),
        type: 'alert.test',
        name: input.name ?? sample.name,
        // The overlay shows display_name in place of name, so the sample must not hide a name of the request.
        display_name: input.displayName ?? (input.name ? null : sample.displayName),
        amount: amountMinor / 100,
        amount_minor: amountMinor,
        currency: 'THB',
        message: input.message ?? sample.message,
        overlays_connected: await overlaysConnected(input.creatorId),
      });
      events.announce(input.creatorId, sequence);
      return alert;
    },
  };
}

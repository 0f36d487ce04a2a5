import { ApiError } from '../../errors.ts';
import { type Clock, toTimestamp } from '../../platform/clock.ts';
import type { Database, Tx } from '../../platform/db/database.ts';
import type { Hub } from '../../platform/hub/hub.ts';
import { hashSecret, newSecret, type Vault } from '../../platform/secrets.ts';
import type { EventLog, Place } from '../events/index.ts';
import { accessTopic } from '../oauth/index.ts';
import type { Tips } from '../tips/index.ts';
import * as repo from './repo.ts';
import { type OverlaySettings, readSettings } from './settings.ts';

/**
 * What happens to an alert after its event is in the log.
 *
 * - An alert waits as `queued` until the first page says what became of it; every other status is final, and one
 *   conditional update decides who was first. The event that tells of it commits with it.
 * - What a page acknowledged is noted for that page (an instance) and for the overlay as a whole, and never goes back.
 */
export interface OverlaysParts {
  readonly db: Database;
  readonly hub: Hub;
  readonly events: EventLog;
  readonly tips: Tips;
  readonly clock: Clock;
  readonly vault: Vault;
}

export interface Acknowledgement {
  readonly instance: string;
  readonly sequence: number;
  readonly outcome: 'shown' | 'below_minimum' | 'expired';
}

export type Overlays = ReturnType<typeof createOverlays>;

/** Hints that an overlay's settings or pause changed go here. */
export const overlayTopic = (creatorId: string): string => `overlay:${creatorId}`;

const sealContext = (creatorId: string): string => `overlay-key:${creatorId}`;

export function createOverlays({ db, hub, events, tips, clock, vault }: OverlaysParts) {
  /** The creator's overlay; made when it is first asked for. */
  async function overlay(creatorId: string): Promise<repo.OverlayRow> {
    const known = await repo.overlayOf(db, creatorId);
    if (known) return known;
    const key = newSecret('njo');
    const made = {
      key_hash: hashSecret(key),
      sealed_key: vault.seal(key, sealContext(creatorId)),
      created_at: clock(),
    };
    await db.write((tx) => repo.insertOverlay(tx, { creator_id: creatorId, ...made }));
    return (await repo.overlayOf(db, creatorId))!;
  }

  async function appendOutcome(tx: Tx, creatorId: string, outcome: Outcome): Promise<Place> {
    const { type, tipId = null, alertId = null, shownAt = null, reason = null } = outcome;
    const data = { tip_id: tipId, alert_id: alertId, shown_at: shownAt === null ? null : toTimestamp(shownAt), reason };
    return events.append(tx, { creatorId, type, data: () => JSON.stringify(data) });
  }

  function announce(creatorId: string, place: Place | undefined): void {
    if (place) events.announce(creatorId, place.sequence);
  }

  return {
    overlay,
    key: async (creatorId: string): Promise<string> => {
      const { sealed_key } = await overlay(creatorId);
      return vault.open(sealed_key, sealContext(creatorId));
    },

    /** Whose overlay this is, now. */
    creatorOf: async (key: string): Promise<string | undefined> =>
      (await repo.creatorByKey(db, hashSecret(key)))?.creator_id,

    /** A new key; connections opened with the old one end within a second. */
    async replaceKey(creatorId: string): Promise<string> {
      await overlay(creatorId);
      const key = newSecret('njo');
      await db.write((tx) => repo.setKey(tx, creatorId, hashSecret(key), vault.seal(key, sealContext(creatorId))));
      hub.publish(accessTopic, creatorId);
      return key;
    },

    settings: async (creatorId: string): Promise<OverlaySettings> => readSettings((await overlay(creatorId)).settings),

    async saveSettings(creatorId: string, settings: OverlaySettings): Promise<void> {
      await overlay(creatorId);
      await db.write((tx) => repo.setSettings(tx, creatorId, JSON.stringify(settings)));
      hub.publish(overlayTopic(creatorId), 'settings');
    },

    async pause(creatorId: string, paused: boolean): Promise<void> {
      await overlay(creatorId);
      await db.write((tx) => repo.setPaused(tx, creatorId, paused));
      hub.publish(overlayTopic(creatorId), 'paused');
    },

    /** Where a page goes on: after its own note, or where the overlay as a whole has come. */
    async position(creatorId: string, instance: string): Promise<number> {
      const own = await repo.instanceNote(db, creatorId, instance);
      return own?.sequence ?? (await overlay(creatorId)).last_sequence;
    },

    /** Ends the wait of alerts that have become too old to be played. */
    async expireOld(creatorId: string): Promise<void> {
      const { settings } = await overlay(creatorId);
      const before = clock() - readSettings(settings).maxAgeMinutes * 60_000;
      await db.write((tx) => repo.expireTips(tx, creatorId, before));
    },

    /** A page tells what became of an alert; the first to tell decides. */
    async acknowledge(creatorId: string, { instance, sequence, outcome }: Acknowledgement): Promise<void> {
      const [event, { settings }] = await Promise.all([repo.eventAt(db, creatorId, sequence), overlay(creatorId)]);
      if (!event) throw new ApiError('not_found', { message: 'There is no event with this sequence.' });
      const { data } = JSON.parse(event.body);
      const now = clock();
      const below = event.type === 'tip.created' && data.tip.amount_minor < readSettings(settings).minimumMinor;
      const place = await db.write(async (tx) => {
        await repo.noteProgress(tx, creatorId, instance, sequence, now);
        if (
          event.type === 'alert.test' &&
          outcome === 'shown' &&
          (await repo.settleAlert(tx, creatorId, data.alert.id, now))
        )
          return appendOutcome(tx, creatorId, { type: 'alert.shown', alertId: data.alert.id, shownAt: now });
        if (event.type !== 'tip.created') return undefined;
        const tipId = data.tip.id;
        if (outcome === 'shown' && (await repo.settleTip(tx, creatorId, tipId, 'shown', now)))
          return appendOutcome(tx, creatorId, { type: 'alert.shown', tipId, shownAt: now });
        if (outcome === 'below_minimum' && below && (await repo.settleTip(tx, creatorId, tipId, 'skipped', null)))
          return appendOutcome(tx, creatorId, { type: 'alert.skipped', tipId, reason: 'below_minimum' });
        if (outcome === 'expired') await repo.settleTip(tx, creatorId, tipId, 'expired', null);
        return undefined;
      });
      announce(creatorId, place);
    },

    /** The creator does not want to see this one. Answers whether it was still waiting. */
    async skip(creatorId: string, tipId: string): Promise<boolean> {
      const place = await db.write(async (tx) =>
        (await repo.settleTip(tx, creatorId, tipId, 'skipped', null))
          ? appendOutcome(tx, creatorId, { type: 'alert.skipped', tipId, reason: 'by_creator' })
          : undefined,
      );
      announce(creatorId, place);
      return place !== undefined;
    },

    /** The creator wants to see this one again; no status changes. */
    async replay(creatorId: string, tipId: string): Promise<void> {
      const tip = await tips.byId(creatorId, tipId);
      const data = () => `{"tip":${JSON.stringify(tip)}}`;
      announce(
        creatorId,
        await db.write((tx) => events.append(tx, { creatorId, type: 'alert.replayed', replay: true, data })),
      );
    },
  };
}

interface Outcome {
  readonly type: 'alert.shown' | 'alert.skipped';
  readonly tipId?: string;
  readonly alertId?: string;
  readonly shownAt?: number;
  readonly reason?: 'by_creator' | 'below_minimum';
}

import type { Pictures } from '../../platform/pictures.ts';
import type { Platform } from '../../platform/platform.ts';
import { hashSecret, newSecret } from '../../platform/secrets.ts';
import type { Alerts } from '../alerts/index.ts';
import { creatorGone, type EventLog } from '../events/index.ts';
import { accessTopic } from '../oauth/index.ts';
import type { Tips } from '../tips/index.ts';
import { createAlertLists } from './alert-lists.ts';
import { createLooks } from './looks/service.ts';
import { createOutcomes } from './outcomes.ts';
import * as repo from './repo.ts';
import { ageLimit, type OverlaySettings, readSettings, writeSettings } from './settings.ts';

export interface OverlaysParts extends Pick<Platform, 'db' | 'origins' | 'hub' | 'clock' | 'newId' | 'vault'> {
  readonly events: EventLog;
  readonly tips: Tips;
  readonly alerts: Alerts;
  readonly pictures: Pictures;
  /** How many overlays of the creator are open, over all nodes. */
  readonly connected: (creatorId: string) => Promise<number>;
}

export type Overlays = ReturnType<typeof createOverlays>;

export interface Overlay {
  readonly settings: OverlaySettings;
  readonly paused: boolean;
  /** Nothing is shown, and nothing plays. */
  readonly hidden: boolean;
  /** Of everything, 0 to 100. */
  readonly volume: number;
  /** The sequence of the alert that was taken off the screen last. */
  readonly stopped: number | null;
  readonly lastAckAt: number | null;
}

/** `held`: no overlay plays it. `unseen`: no overlay is open. `waiting`: alerts are paused or hidden. */
export type TestOutcome = 'sent' | 'waiting' | 'unseen' | 'held';

/** The topic of hints to open pages: the settings or the pause have changed, or what is playing must stop. */
export const overlayTopic = (creatorId: string): string => `overlay:${creatorId}`;

/** The topic of hints to live controls: what plays, or a switch, has changed. */
export const controlTopic = (creatorId: string): string => `control:${creatorId}`;

const stopHint = 'stop';

/** The frame that a hint becomes. */
export function readHint(hint: string): { readonly type: 'overlay' | 'stop'; readonly tip_id?: string } {
  const [kind, tipId] = hint.split(':', 2);
  if (kind !== stopHint) return { type: 'overlay' };
  return tipId === undefined ? { type: 'stop' } : { type: 'stop', tip_id: tipId };
}

/** The position of a page is deleted after this time. Events are not retained longer either. */
const retentionMs = 30 * 86_400_000;
const pruneBatch = 500;

const sealContext = (creatorId: string): string => `overlay-key:${creatorId}`;

/** A creator's overlay: its key, its settings, and the outcomes of alerts (outcomes.ts). */
export function createOverlays(parts: OverlaysParts) {
  const { db, origins, hub, events, tips, alerts, clock, newId, vault, pictures, connected } = parts;

  /** Creates the overlay on first use. */
  async function row(creatorId: string): Promise<repo.OverlayRow> {
    const known = await repo.overlayOf(db, creatorId);
    if (known) return known;
    const key = newSecret('njo');
    const sealed = vault.seal(key, sealContext(creatorId));
    await db.write(repo.writes.insertOverlay, origins.current(), creatorId, hashSecret(key), sealed, clock());
    const overlay = await repo.overlayOf(db, creatorId);
    if (!overlay) throw creatorGone();
    return overlay;
  }

  async function get(creatorId: string): Promise<Overlay> {
    const { settings, looks, paused, hidden, volume, stopped_sequence, last_ack_at } = await row(creatorId);
    return {
      settings: readSettings(settings, looks),
      paused: paused === 1,
      hidden: hidden === 1,
      volume,
      stopped: stopped_sequence,
      lastAckAt: last_ack_at,
    };
  }

  const onPlaying = (creatorId: string): void => hub.publish(controlTopic(creatorId), 'playing');

  /** Tells open pages and controls that a switch has changed. */
  function switched(creatorId: string, hint: string): void {
    hub.publish(overlayTopic(creatorId), hint);
    hub.publish(controlTopic(creatorId), hint);
  }

  /** Takes what is playing off the screen of every page. It was shown, so no status changes. */
  async function stop(creatorId: string): Promise<void> {
    await row(creatorId);
    await db.write(repo.writes.stopPlaying, creatorId, null);
    switched(creatorId, stopHint);
  }

  const outcomes = createOutcomes({ db, events, tips, clock, row, connected, onPlaying });
  const lists = createAlertLists({ events, tips, clock, row });
  const announce = (creatorId: string): void => hub.publish(overlayTopic(creatorId), 'settings');
  const looks = createLooks({ db, clock, newId, pictures, ensure: row, announce });

  return {
    ...outcomes,
    ...lists,
    get,
    looks,

    /** How far a new creator has come: the look was changed, a page was opened, an alert was shown. */
    async setup(creatorId: string): Promise<{ lookChanged: boolean; opened: boolean; shown: boolean }> {
      const [{ lastAckAt }, lookChanged, voices] = await Promise.all([
        get(creatorId),
        looks.everChanged(creatorId),
        looks.voices(creatorId),
      ]);
      return { lookChanged, opened: voices !== null || lastAckAt !== null, shown: lastAckAt !== null };
    },

    stop,

    /** Whether alerts wait, and which are shown at all, without making an overlay. */
    async switches(creatorId: string) {
      const overlay = await repo.overlayOf(db, creatorId);
      const settings = overlay?.settings ?? '{}';
      return {
        paused: overlay?.paused === 1,
        hidden: overlay?.hidden === 1,
        minimumMinor: readSettings(settings).minimumMinor,
        /** Alerts from before are too old. */
        oldestAt: ageLimit({ settings }, clock()),
      };
    },

    /** Skips the tip's alert if it is queued, or else stops it if it is playing. Returns whether it was queued. */
    async skip(creatorId: string, tipId: string): Promise<boolean> {
      if (await outcomes.skip(creatorId, tipId)) return true;
      const playing = await lists.playing(creatorId);
      if (playing?.tipId === tipId && !playing.replay)
        await db.write(repo.writes.stopPlaying, creatorId, playing.sequence);
      switched(creatorId, `${stopHint}:${tipId}`);
      return false;
    },

    key: async (creatorId: string): Promise<string> => {
      const { sealed_key } = await row(creatorId);
      return vault.open(sealed_key, sealContext(creatorId));
    },

    creatorOf: async (key: string): Promise<string | undefined> =>
      (await repo.creatorByKey(db, hashSecret(key)))?.creator_id,

    /** Replaces the key. Connections opened with the old key end within a second. */
    async replaceKey(creatorId: string): Promise<void> {
      await row(creatorId);
      const key = newSecret('njo');
      await db.write(
        repo.writes.setKey,
        origins.current(),
        creatorId,
        hashSecret(key),
        vault.seal(key, sealContext(creatorId)),
      );
      hub.publish(accessTopic, creatorId);
    },

    async saveSettings(creatorId: string, settings: OverlaySettings): Promise<void> {
      await row(creatorId);
      await db.write(repo.writes.setSettings, creatorId, writeSettings(settings));
      announce(creatorId);
    },

    async pause(creatorId: string, paused: boolean): Promise<void> {
      await row(creatorId);
      await db.write(repo.writes.setPaused, creatorId, paused);
      if (paused) await stop(creatorId);
      switched(creatorId, 'paused');
    },

    /** Hides everything at once, or shows it again. Alerts wait meanwhile. */
    async hide(creatorId: string, hidden: boolean): Promise<void> {
      await row(creatorId);
      await db.write(repo.writes.setHidden, creatorId, hidden);
      if (hidden) await stop(creatorId);
      switched(creatorId, 'hidden');
    },

    async setVolume(creatorId: string, volume: number): Promise<void> {
      await row(creatorId);
      await db.write(repo.writes.setVolume, creatorId, volume);
      switched(creatorId, 'volume');
    },

    /** Sends a test alert that is not below the creator's minimum. Returns what becomes of it. */
    async sendTest(creatorId: string): Promise<TestOutcome> {
      const { settings, paused, hidden } = await get(creatorId);
      const { alert, held } = await alerts.send({ creatorId, amount: Math.max(100, settings.minimumMinor / 100) });
      if (held) return 'held';
      if (alert.overlays_connected === 0) return 'unseen';
      return paused || hidden ? 'waiting' : 'sent';
    },

    /** What becomes of an alert that was asked for again. */
    async replayOutcome(creatorId: string): Promise<'replayDone' | 'replayUnseen' | 'replayWaiting'> {
      const [{ paused, hidden }, open] = await Promise.all([get(creatorId), connected(creatorId)]);
      if (open === 0) return 'replayUnseen';
      return paused || hidden ? 'replayWaiting' : 'replayDone';
    },

    async prune(): Promise<void> {
      while ((await db.write(repo.writes.deleteBefore, clock() - retentionMs, pruneBatch)) > 0);
    },
  };
}

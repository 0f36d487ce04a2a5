import { fromSingleLook, type SingleLook, toSingleLook, type Variation } from './browser/variation.ts';
import type { VoiceSettings } from './browser/voice.ts';

/**
 * The settings of an overlay as its pages get them. The fields of `SingleLook` are those of the first variation: pages
 * that were opened before there were variations know no others.
 */
export interface OverlaySettings extends SingleLook {
  /** Alerts below this amount are not shown. */
  readonly minimumMinor: number;
  /** 0 to 100 */
  readonly volume: number;
  /** Alerts older than this are not played after an outage. */
  readonly maxAgeMinutes: number;
  readonly voice: VoiceSettings;
  /** In the order of their amounts, the first one from 0. */
  readonly variations: readonly Variation[];
}

const defaults: Omit<OverlaySettings, 'variations'> = {
  minimumMinor: 0,
  seconds: 6,
  position: 'bottom',
  accent: '#ffb454',
  text: '#ffffff',
  background: '#1d1a27',
  template: '{name} {amount}',
  sound: 'chime',
  volume: 60,
  maxAgeMinutes: 30,
  voice: { on: false, fromMinor: 2000, length: 200 },
};

/**
 * Stored settings override the defaults, so that a new setting needs no migration. Without published variations the
 * stored single look is the only one.
 */
export function readSettings(stored: string, looks: string | null = null): OverlaySettings {
  const settings = { ...defaults, ...JSON.parse(stored) };
  const variations: readonly Variation[] = looks === null ? [fromSingleLook(settings)] : JSON.parse(looks);
  const [first] = variations;
  return { ...settings, ...(first && toSingleLook(first)), variations };
}

/** Alerts from before this time are not played after an outage. */
export const ageLimit = ({ settings }: { readonly settings: string }, now: number): number =>
  now - readSettings(settings).maxAgeMinutes * 60_000;

/** What is stored: the variations have a column of their own. */
export function writeSettings({ variations: _, ...settings }: OverlaySettings): string {
  return JSON.stringify(settings);
}

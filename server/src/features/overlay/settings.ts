/** Stored settings override the defaults, so that a new setting needs no migration. */
export interface OverlaySettings {
  /** Alerts below this amount are not shown. */
  readonly minimumMinor: number;
  readonly seconds: number;
  readonly position: Position;
  readonly accent: string;
  readonly text: string;
  readonly background: string;
  /** `{name}` and `{amount}` are filled in. */
  readonly template: string;
  readonly sound: Sound;
  /** 0 to 100 */
  readonly volume: number;
  /** Alerts older than this are not played after an outage. */
  readonly maxAgeMinutes: number;
}

export const positions = ['top', 'middle', 'bottom'] as const;
export const sounds = ['chime', 'drop', 'coin', 'none'] as const;
type Position = (typeof positions)[number];
export type Sound = (typeof sounds)[number];

const defaults: OverlaySettings = {
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
};

export const readSettings = (stored: string): OverlaySettings => ({ ...defaults, ...JSON.parse(stored) });

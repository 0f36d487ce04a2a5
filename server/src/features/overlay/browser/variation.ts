/**
 * How an alert looks and sounds from an amount on. The server, the overlay page and the preview share this module, so
 * that all of them mean the same.
 */
export const positions = [
  'top-left',
  'top',
  'top-right',
  'left',
  'middle',
  'right',
  'bottom-left',
  'bottom',
  'bottom-right',
] as const;
export const motions = ['fade', 'rise', 'fall', 'slide', 'zoom', 'flip'] as const;
export const cards = ['solid', 'glass', 'none'] as const;
export const shadows = ['none', 'soft', 'strong', 'outline'] as const;
export const builtInSounds = ['chime', 'drop', 'coin', 'bell', 'fanfare', 'pop', 'none'] as const;
/** Each has Thai and Latin letters. fonts.css names their files. */
export const fonts = {
  plex: 'IBM Plex Sans Thai',
  kanit: 'Kanit',
  mitr: 'Mitr',
  chakra: 'Chakra Petch',
  mali: 'Mali',
  itim: 'Itim',
  sriracha: 'Sriracha',
  chonburi: 'Chonburi',
} as const;

export type Position = (typeof positions)[number];
export type Motion = (typeof motions)[number];
export type BuiltInSound = (typeof builtInSounds)[number];
export type Font = keyof typeof fonts;

export interface Variation {
  /** Alerts of at least this amount, up to the next variation. The first one is from 0. */
  readonly fromMinor: number;
  /** The first line. `{name}` and `{amount}` are filled in. */
  readonly template: string;
  /** The id of an uploaded picture. */
  readonly picture: string | null;
  /** The name of a built-in sound, or the id of an uploaded one. */
  readonly sound: string;
  readonly font: Font;
  /** The size of the letters in percent. */
  readonly size: number;
  readonly accent: string;
  readonly text: string;
  readonly background: string;
  readonly card: (typeof cards)[number];
  readonly shadow: (typeof shadows)[number];
  readonly position: Position;
  readonly entrance: Motion;
  readonly exit: Motion;
  readonly seconds: number;
}

/** The look of an overlay that has one only: what was stored before there were variations. */
export interface SingleLook {
  readonly seconds: number;
  readonly position: 'top' | 'middle' | 'bottom';
  readonly accent: string;
  readonly text: string;
  readonly background: string;
  readonly template: string;
  readonly sound: 'chime' | 'drop' | 'coin' | 'none';
}

export const fromSingleLook = (look: SingleLook): Variation => ({
  fromMinor: 0,
  template: look.template,
  picture: null,
  sound: look.sound,
  font: 'plex',
  size: 100,
  accent: look.accent,
  text: look.text,
  background: look.background,
  card: 'solid',
  shadow: 'none',
  position: look.position,
  entrance: 'rise',
  exit: 'fade',
  seconds: look.seconds,
});

const singleSounds = ['chime', 'drop', 'coin', 'none'] as const;

/** The nearest single look, for a page that was opened before there were variations. */
export function toSingleLook(variation: Variation): SingleLook {
  const { seconds, position, accent, text, background, template, sound } = variation;
  const row = position.startsWith('top') ? 'top' : position.startsWith('bottom') ? 'bottom' : 'middle';
  return {
    seconds,
    position: row,
    accent,
    text,
    background,
    template,
    sound: singleSounds.find((each) => each === sound) ?? 'chime',
  };
}

export const isBuiltIn = (sound: string): sound is BuiltInSound => builtInSounds.some((each) => each === sound);

/** The address of an uploaded picture or sound. */
export const fileAddress = (id: string): string => `/overlay-files/${id}`;

interface WithVariations extends SingleLook {
  readonly variations?: readonly Variation[];
}

/** The variation of an amount. Variations are in the order of their amounts. */
export function variationFor(settings: WithVariations, amountMinor: number): Variation {
  const { variations = [] } = settings;
  // A node of the version before answers without variations during an update.
  return variations.findLast(({ fromMinor }) => fromMinor <= amountMinor) ?? variations[0] ?? fromSingleLook(settings);
}

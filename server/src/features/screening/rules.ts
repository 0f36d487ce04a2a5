/** What a creator has decided about the texts of tips. Stored rules override the defaults. */
export interface Rules {
  readonly lists: readonly RuleList[];
  readonly links: Action | 'allow';
  readonly numbers: Action | 'allow';
  /** Names whose tips are not shown. */
  readonly blockedNames: readonly string[];
  readonly hold: HoldRules;
}

export interface RuleList {
  readonly id: string;
  readonly title: string;
  readonly words: readonly string[];
  readonly except: readonly string[];
  readonly match: (typeof matches)[number];
  readonly action: Action;
}

export interface HoldRules {
  readonly everything: boolean;
  /** Tips of names that the creator has not had shown before. */
  readonly newNames: boolean;
  /** Tips of at least this amount. */
  readonly fromMinor: number | null;
}

/** What a finding does: hides the message, masks the words, or holds the tip. */
export const actions = ['hide', 'mask', 'hold'] as const;
export type Action = (typeof actions)[number];
export const matches = ['words', 'anywhere'] as const;

export const limits = {
  lists: 10,
  words: 2_000,
  /** Of all words together, as the matcher reads them. */
  letters: 50_000,
  wordLength: 60,
  names: 500,
  nameLength: 40,
  titleLength: 40,
};

export const noRules: Rules = {
  lists: [],
  links: 'allow',
  numbers: 'allow',
  blockedNames: [],
  hold: { everything: false, newNames: false, fromMinor: null },
};

export const readRules = (stored: string | null): Rules =>
  stored === null ? noRules : { ...noRules, ...JSON.parse(stored) };

/** How many entries the rules have: what they cost in memory. */
export const sizeOf = ({ lists, blockedNames }: Rules): number =>
  lists.reduce((sum, { words, except }) => sum + words.length + except.length, blockedNames.length);

import type { FastifyRequest } from 'fastify';
import { hasControls } from '../../../platform/names.ts';
import { type FormTexts, formTexts } from '../../../platform/web/form-body.ts';
import { defined, within } from '../../../platform/web/form-checks.ts';
import {
  builtInSounds,
  cards,
  type Font,
  fonts,
  isBuiltIn,
  motions,
  positions,
  shadows,
  type Variation,
} from '../browser/variation.ts';
import { readAmount, whole } from '../settings-form.ts';
import type { LooksWords } from './words.ts';

const names = [
  'from',
  'template',
  'sound',
  'font',
  'size',
  'accent',
  'text',
  'background',
  'card',
  'shadow',
  'position',
  'entrance',
  'exit',
  'seconds',
  'remove_picture',
] as const;

/** The form's fields as typed. */
export type Typed = FormTexts<(typeof names)[number]>;
/** Error messages by the name of the field; files have one too. */
export type Wrong = { [Name in keyof Typed | 'picture_file' | 'sound_file']?: string };

/** In place of a sound's name: the sound that is uploaded. */
export const ownSound = 'own' as const;
export const fontNames = Object.keys(fonts) as Font[];
const seconds = { least: 2, most: 60 };
const size = { least: 60, most: 200 };

export const readTyped = (request: FastifyRequest): Typed => formTexts(request, names);

export const toTyped = (variation: Variation): Typed => ({
  from: String(variation.fromMinor / 100),
  template: variation.template,
  sound: isBuiltIn(variation.sound) ? variation.sound : ownSound,
  font: variation.font,
  size: String(variation.size),
  accent: variation.accent,
  text: variation.text,
  background: variation.background,
  card: variation.card,
  shadow: variation.shadow,
  position: variation.position,
  entrance: variation.entrance,
  exit: variation.exit,
  seconds: String(variation.seconds),
  remove_picture: '',
});

export interface Uploaded {
  /** Whether a new file was chosen. */
  readonly picture: boolean;
  readonly sound: boolean;
}

/** `before` is the variation that the form changes. Its files stay unless the form says otherwise. */
export function parseVariation(
  typed: Typed,
  before: Variation,
  uploaded: Uploaded,
  t: LooksWords,
): Variation | { wrong: Wrong } {
  const fromMinor = before.fromMinor === 0 ? 0 : readAmount(typed.from) || undefined;
  const template = typed.template.trim();
  const [letters, time] = [whole(typed.size), whole(typed.seconds)];
  const chosen = {
    font: fontNames.find((each) => each === typed.font),
    card: cards.find((each) => each === typed.card),
    shadow: shadows.find((each) => each === typed.shadow),
    position: positions.find((each) => each === typed.position),
    entrance: motions.find((each) => each === typed.entrance),
    exit: motions.find((each) => each === typed.exit),
    sound: soundOf(typed.sound, before, uploaded),
  };
  const { font, card, shadow, position, entrance, exit, sound } = chosen;
  const colour = (value: string) => (/^#[0-9a-f]{6}$/i.test(value) ? undefined : t('colourError'));
  const missing = (value: unknown) => (value === undefined ? t('chooseError') : undefined);
  const wrong: Wrong = defined({
    from: fromMinor === undefined ? t('fromError') : undefined,
    template: within([...template].length, 1, 100) && !hasControls(template) ? undefined : t('templateError'),
    size: within(letters, size.least, size.most) ? undefined : t('sizeError'),
    seconds: within(time, seconds.least, seconds.most) ? undefined : t('secondsError'),
    accent: colour(typed.accent),
    text: colour(typed.text),
    background: colour(typed.background),
    font: missing(font),
    card: missing(card),
    shadow: missing(shadow),
    position: missing(position),
    entrance: missing(entrance),
    exit: missing(exit),
    sound: sound === undefined && typed.sound !== ownSound ? t('chooseError') : undefined,
    sound_file: sound === undefined && typed.sound === ownSound ? t('soundNone') : undefined,
  });
  if (!font || !card || !shadow || !position || !entrance || !exit || !sound) return { wrong };
  if (fromMinor === undefined || Object.keys(wrong).length > 0) return { wrong };
  const { accent, text, background } = typed;
  return {
    fromMinor,
    template,
    picture: typed.remove_picture === '' ? before.picture : null,
    sound,
    font,
    size: letters,
    accent: accent.toLowerCase(),
    text: text.toLowerCase(),
    background: background.toLowerCase(),
    card,
    shadow,
    position,
    entrance,
    exit,
    seconds: time,
  };
}

/** A new file replaces whatever was chosen, and gets its id when it is stored. */
function soundOf(typed: string, before: Variation, uploaded: Uploaded): string | undefined {
  if (uploaded.sound) return ownSound;
  if (typed === ownSound) return isBuiltIn(before.sound) ? undefined : before.sound;
  return builtInSounds.find((each) => each === typed);
}

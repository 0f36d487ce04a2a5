import type { FastifyRequest } from 'fastify';
import { type FormTexts, formTexts } from '../../platform/web/form-body.ts';
import { field, select } from '../../platform/web/forms.ts';
import { type Html, html } from '../../platform/web/html.ts';
import { type OverlaySettings, positions, sounds } from './settings.ts';
import type { overlayWords } from './words.ts';

type T = ReturnType<typeof overlayWords>;

const choices = ['position', 'sound'] as const;
const numbers = ['minimum', 'seconds', 'volume', 'age'] as const;
const texts = ['accent', 'text', 'background', 'template'] as const;

/** The form's fields as typed. */
export type Typed = FormTexts<(typeof choices | typeof numbers | typeof texts)[number]>;
export type Wrong = { [Name in keyof Typed]?: string };

export const readTyped = (request: FastifyRequest): Typed => formTexts(request, [...choices, ...numbers, ...texts]);

export const toTyped = (settings: OverlaySettings): Typed => ({
  ...settings,
  minimum: String(settings.minimumMinor / 100),
  seconds: String(settings.seconds),
  volume: String(settings.volume),
  age: String(settings.maxAgeMinutes),
});

export function parseSettings(typed: Typed, t: T): OverlaySettings | { wrong: Wrong } {
  const minimum = /^\d{1,7}(\.\d{1,2})?$/.test(typed.minimum.trim()) ? Number(typed.minimum) : Number.NaN;
  const seconds = whole(typed.seconds);
  const volume = whole(typed.volume);
  const age = whole(typed.age);
  const template = typed.template.trim();
  const position = positions.find((each) => each === typed.position);
  const sound = sounds.find((each) => each === typed.sound);
  const colour = (value: string) => (/^#[0-9a-f]{6}$/i.test(value) ? undefined : t('colourError'));
  const wrong: Wrong = defined({
    minimum: minimum <= 1_000_000 ? undefined : t('minimumError'),
    seconds: within(seconds, 1, 60) ? undefined : t('secondsError'),
    position: position ? undefined : t('chooseError'),
    accent: colour(typed.accent),
    text: colour(typed.text),
    background: colour(typed.background),
    template: within([...template].length, 1, 100) ? undefined : t('templateError'),
    sound: sound ? undefined : t('chooseError'),
    volume: within(volume, 0, 100) ? undefined : t('volumeError'),
    age: within(age, 1, 1440) ? undefined : t('ageError'),
  });
  if (Object.keys(wrong).length > 0 || !position || !sound) return { wrong };
  const { accent, text, background } = typed;
  const minimumMinor = Math.round(minimum * 100);
  return { minimumMinor, seconds, position, accent, text, background, template, sound, volume, maxAgeMinutes: age };
}

const whole = (text: string): number => (/^\d{1,5}$/.test(text.trim()) ? Number(text) : Number.NaN);
const within = (value: number, least: number, most: number): boolean => value >= least && value <= most;
const defined = (values: Record<string, string | undefined>): Wrong =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));

export function settingFields(typed: Typed, wrong: Wrong, t: T): Html {
  const shared = (name: keyof Typed) => ({ name, value: typed[name], error: wrong[name] });
  const number = (name: 'seconds' | 'volume' | 'age', hint?: string) =>
    field({ ...shared(name), label: t(name), hint, inputmode: 'numeric', maxlength: 5 });
  const colour = (name: 'accent' | 'text' | 'background') => field({ ...shared(name), label: t(name), type: 'color' });
  return html`
<div class="columns">
  !${field({ ...shared('template'), label: t('template'), hint: t('templateHint', { name: '{name}', amount: '{amount}' }), maxlength: 200 })}
  !${field({ ...shared('minimum'), label: t('minimum'), hint: t('minimumHint'), inputmode: 'decimal', maxlength: 10 })}
  !${select({ ...shared('position'), label: t('position'), options: positions.map((each) => [each, t(each)]) })}
  !${number('seconds')}
  !${select({ ...shared('sound'), label: t('sound'), options: sounds.map((each) => [each, t(each)]) })}
  !${number('volume')}
  !${colour('accent')}!${colour('text')}!${colour('background')}
  !${number('age', t('ageHint'))}
</div>`;
}

import type { FastifyRequest } from 'fastify';
import { type FormTexts, formTexts } from '../../platform/web/form-body.ts';
import { defined, within } from '../../platform/web/form-checks.ts';
import { readMoney } from '../../platform/web/format.ts';
import type { OverlaySettings } from './settings.ts';
import type { overlayWords } from './words.ts';

type T = ReturnType<typeof overlayWords>;

const names = ['minimum', 'volume', 'age', 'voice', 'voice_from', 'voice_length'] as const;

/** The form's fields as typed. */
export type Typed = FormTexts<(typeof names)[number]>;
export type Wrong = { [Name in keyof Typed]?: string };

/** What this form changes; the looks have pages of their own. */
export type GeneralSettings = Pick<OverlaySettings, 'minimumMinor' | 'volume' | 'maxAgeMinutes' | 'voice'>;

export const readTyped = (request: FastifyRequest): Typed => formTexts(request, names);

export const toTyped = ({ minimumMinor, volume, maxAgeMinutes, voice }: GeneralSettings): Typed => ({
  minimum: String(minimumMinor / 100),
  volume: String(volume),
  age: String(maxAgeMinutes),
  voice: voice.on ? 'on' : '',
  voice_from: String(voice.fromMinor / 100),
  voice_length: String(voice.length),
});

export function parseSettings(typed: Typed, t: T): GeneralSettings | { wrong: Wrong } {
  const minimumMinor = readAmount(typed.minimum);
  const volume = whole(typed.volume);
  const age = whole(typed.age);
  const voiceFromMinor = readAmount(typed.voice_from);
  const voiceLength = whole(typed.voice_length);
  const wrong: Wrong = defined({
    minimum: minimumMinor === undefined ? t('minimumError') : undefined,
    volume: within(volume, 0, 100) ? undefined : t('volumeError'),
    age: within(age, 1, 1440) ? undefined : t('ageError'),
    voice_from: voiceFromMinor === undefined ? t('minimumError') : undefined,
    voice_length: within(voiceLength, 10, 255) ? undefined : t('voiceLengthError'),
  });
  if (minimumMinor === undefined || voiceFromMinor === undefined || Object.keys(wrong).length > 0) return { wrong };
  return {
    minimumMinor,
    volume,
    maxAgeMinutes: age,
    voice: { on: typed.voice !== '', fromMinor: voiceFromMinor, length: voiceLength },
  };
}

/** Satang; `undefined` if the text is no amount, or one that is too large. */
export function readAmount(text: string): number | undefined {
  const minor = readMoney(text);
  return minor !== undefined && minor <= 100_000_000 ? minor : undefined;
}
export const whole = (text: string): number => (/^\d{1,5}$/.test(text.trim()) ? Number(text) : Number.NaN);

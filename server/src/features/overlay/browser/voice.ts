/** Reads tips aloud with the voices of this browser. Without a voice for the language nothing is said. */
import { displayName, displayText } from '../../../platform/web/browser/text.ts';

export interface VoiceSettings {
  readonly on: boolean;
  /** Tips below this amount are not read. */
  readonly fromMinor: number;
  /** The most characters of a message that are read. */
  readonly length: number;
}

/** What is being said. */
export interface Speech {
  /** Resolves when it is said, stopped or failed. */
  readonly done: Promise<void>;
  stop(): void;
}

/** Languages by their script, the first that occurs. Anything else is read as English. */
const scripts: readonly [script: RegExp, language: string][] = [
  [/\p{Script=Thai}/u, 'th'],
  [/[\p{Script=Hiragana}\p{Script=Katakana}]/u, 'ja'],
  [/\p{Script=Hangul}/u, 'ko'],
  [/\p{Script=Han}/u, 'zh'],
  [/\p{Script=Lao}/u, 'lo'],
  [/\p{Script=Khmer}/u, 'km'],
  [/\p{Script=Myanmar}/u, 'my'],
  [/\p{Script=Cyrillic}/u, 'ru'],
  [/\p{Script=Arabic}/u, 'ar'],
  [/\p{Script=Devanagari}/u, 'hi'],
];

const languageOfText = (text: string): string => scripts.find(([script]) => script.test(text))?.[1] ?? 'en';

/** `th` for `th-TH` and `th_TH`. */
const primary = (tag: string): string => tag.toLowerCase().split(/[-_]/)[0] ?? '';

const synthesis = (): SpeechSynthesis | undefined => globalThis.speechSynthesis;

const voiceFor = (language: string): SpeechSynthesisVoice | undefined =>
  synthesis()
    ?.getVoices()
    .find(({ lang }) => primary(lang) === language);

/**
 * The languages that this browser can read, by their codes of two or three letters; some engines name others, or none.
 * Some browsers find their voices only after a while.
 */
export const spokenLanguages = (): string[] =>
  [
    ...new Set(
      synthesis()
        ?.getVoices()
        .map(({ lang }) => primary(lang))
        .filter((language) => /^[a-z]{2,3}$/.test(language)),
    ),
  ].sort();

/** Calls the listener when the voices of this browser change. */
export const onVoicesChanged = (listener: () => void): void => synthesis()?.addEventListener('voiceschanged', listener);

export interface Spoken {
  readonly name: string;
  readonly amountMinor: number;
  readonly message: string | null;
}

/** What is to be read, and the language of its message. */
export interface SpokenText {
  readonly text: string;
  readonly language: string;
}

/** Nothing for a small tip or one without a message. */
export function spokenText(tip: Spoken, voice: VoiceSettings): SpokenText | undefined {
  if (!voice.on || tip.amountMinor < voice.fromMinor) return undefined;
  const message = displayText(tip.message ?? '', { length: voice.length, breaks: 0 });
  if (message === '') return undefined;
  return { text: `${displayName(tip.name)}: ${message}`, language: languageOfText(message) };
}

/** Nobody listens longer than this, and some engines never say that they are done. */
const longestMs = 45_000;

/** Faster than this nobody understands a voice. */
const maxRate = 3;

export function speak({ text, language }: SpokenText, volume: number, rate = 1): Speech | undefined {
  const voice = voiceFor(language);
  const engine = synthesis();
  if (!engine || !voice || volume === 0) return undefined;
  const utterance = new SpeechSynthesisUtterance(text);
  utterance.voice = voice;
  utterance.lang = voice.lang;
  utterance.volume = volume / 100;
  utterance.rate = Math.min(rate, maxRate);
  const { promise: done, resolve } = Promise.withResolvers<void>();
  let ended = false;
  const end = () => {
    ended = true;
    clearTimeout(limit);
    resolve();
  };
  const stop = () => {
    if (!ended) engine.cancel();
    end();
  };
  const limit = setTimeout(stop, longestMs);
  utterance.onend = end;
  utterance.onerror = end;
  engine.speak(utterance);
  return { done, stop };
}

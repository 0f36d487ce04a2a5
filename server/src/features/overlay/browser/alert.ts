/** One alert with all that belongs to it: what is drawn, its sound and its voice. Removing it ends all of them. */
import type { OverlaySettings } from '../settings.ts';
import { playSound, shareOfAll } from './sound.ts';
import { type AlertText, type ShownAlert, showAlert } from './stage.ts';
import { type Variation, variationFor } from './variation.ts';
import { speak, wordsOf } from './voice.ts';

/** Where files are that the creator has chosen but not uploaded yet; only the preview has such. */
export interface OwnFiles {
  readonly picture?: string | undefined;
  readonly sound?: string | undefined;
}

export interface PlayOptions extends OwnFiles {
  readonly variation?: Variation;
}

export interface PlayingAlert extends ShownAlert {
  /** How long it stays, as far as can be told: nobody knows how fast a voice reads. */
  readonly ms: number;
}

/** A rough pace of voices. */
const msPerCharacter = 100;

/** Adds the alert to the page before it returns. */
export function playAlert(
  sequence: number,
  text: AlertText,
  settings: OverlaySettings,
  { variation = variationFor(settings, text.amountMinor), ...files }: PlayOptions = {},
): PlayingAlert {
  const words = settings.voice ? wordsOf(text, settings.voice) : undefined;
  const speech = words && ifPossible(() => speak(words, settings.volume * shareOfAll()));
  const shown = showAlert(sequence, text, variation, { picture: files.picture, until: speech?.done });
  const silence = ifPossible(() => playSound(variation.sound, settings.volume, files.sound));
  void shown.gone.then(() => {
    silence?.();
    speech?.stop();
  });
  const spoken = speech && words ? words.text.length * msPerCharacter : 0;
  return { ...shown, ms: Math.round(Math.max(variation.seconds * 1000, spoken)) };
}

/** A browser without a working sound device or voice shows alerts all the same. */
function ifPossible<Result>(start: () => Result): Result | undefined {
  try {
    return start();
  } catch {
    return undefined;
  }
}

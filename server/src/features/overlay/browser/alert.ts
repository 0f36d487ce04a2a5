/** One alert with all that belongs to it: what is drawn, its sound and its voice. Removing it ends all of them. */
import type { OverlaySettings } from '../settings.ts';
import { masterShare, playSound } from './sound.ts';
import { type AlertText, type ShownAlert, showAlert } from './stage.ts';
import { type Variation, variationFor } from './variation.ts';
import { speak, spokenText } from './voice.ts';

/** Where files are that the creator has chosen but not uploaded yet; only the preview has such. */
export interface OwnFiles {
  readonly picture?: string | undefined;
  readonly sound?: string | undefined;
}

export interface PlayOptions extends OwnFiles {
  readonly variation?: Variation;
  /** Of a rehearsed alert. */
  readonly pace?: number | undefined;
}

export interface StartedAlert extends ShownAlert {
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
  { variation = variationFor(settings, text.amountMinor), pace, ...files }: PlayOptions = {},
): StartedAlert {
  const words = settings.voice ? spokenText(text, settings.voice) : undefined;
  const speech = words && ifPossible(() => speak(words, settings.volume * masterShare(), pace));
  const spoken = speech && words ? words.text.length * msPerCharacter : 0;
  const ms = Math.round(Math.max(variation.seconds * 1000, spoken) / (pace ?? 1));
  // The voice of a faster rehearsal is cut off, so that the alert leaves in time.
  const until = speech && pace !== undefined && pace > 1 ? Promise.race([speech.done, after(ms)]) : speech?.done;
  const shown = showAlert(sequence, text, variation, { picture: files.picture, until, pace });
  const silence = ifPossible(() => playSound(variation.sound, settings.volume, files.sound));
  void shown.gone.then(() => {
    silence?.();
    speech?.stop();
  });
  return { ...shown, ms };
}

const after = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** A browser without a working sound device or voice shows alerts all the same. */
function ifPossible<Result>(start: () => Result): Result | undefined {
  try {
    return start();
  } catch {
    return undefined;
  }
}

/**
 * Draws an alert with the overlay's own code as the page around it asks. It has no connection to the server. The alert
 * stands still while it is edited; `play` shows it once as it will come and go, with its sound and voice.
 */
import type { OverlaySettings } from '../settings.ts';
import { type PlayOptions, playAlert } from './alert.ts';
import { preload } from './preload.ts';
import { type AlertText, type ShownAlert, showAlert } from './stage.ts';

export interface PreviewMessage {
  readonly settings: OverlaySettings;
  readonly text: AlertText;
  readonly variation: OverlaySettings['variations'][number];
  /** Files that are chosen but not uploaded yet. */
  readonly picture: File | null;
  readonly sound: File | null;
  readonly play: boolean;
}

let shown: ShownAlert | undefined;
let addresses: string[] = [];
let fonts = '';

/** The address of a file in this page, until the next one is shown. */
function addressOf(file: File | null): string | undefined {
  if (!file) return undefined;
  const address = URL.createObjectURL(file);
  addresses.push(address);
  return address;
}

function show({ settings, text, variation, play, ...files }: PreviewMessage): void {
  shown?.remove();
  for (const address of addresses) URL.revokeObjectURL(address);
  addresses = [];
  const options: PlayOptions = { variation, picture: addressOf(files.picture), sound: addressOf(files.sound) };
  const still = () => {
    shown = showAlert(0, text, variation, { picture: options.picture, still: true });
  };
  if (!play) {
    still();
    return;
  }
  const playing = playAlert(0, text, settings, options);
  shown = playing;
  void playing.gone.then(() => shown === playing && still());
}

addEventListener('message', ({ origin, data }: MessageEvent<PreviewMessage>) => {
  if (origin !== location.origin) return;
  if (fonts !== data.variation.font) {
    fonts = data.variation.font;
    void preload({ variations: [data.variation] });
  }
  show(data);
});

// The page around may be ready before this one.
parent.postMessage('ready', location.origin);

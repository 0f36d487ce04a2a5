/** A sample alert in the looks of the settings form around it, again and again. It is connected to nothing. */
import type { OverlaySettings } from '../settings.ts';
import { play } from './sound.ts';
import { dress, show, type Words } from './stage.ts';

const sample: Words = { name: 'น้ำใจ', amountMinor: 15_050, message: 'Great stream! สู้ ๆ นะ' };
const pauseMs = 1000;

let settings: OverlaySettings = JSON.parse(document.body.dataset.settings ?? '{}');
dress(settings);

addEventListener('message', ({ origin, data }) => {
  if (origin !== location.origin) return;
  const { sound, volume } = settings;
  settings = { ...settings, ...data };
  dress(settings);
  if (settings.sound !== sound || settings.volume !== volume) play(settings);
});

for (;;) {
  await show(0, sample, settings);
  await new Promise((resolve) => setTimeout(resolve, pauseMs));
}

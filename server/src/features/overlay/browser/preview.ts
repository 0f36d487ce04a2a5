/** Shows a sample alert in a loop, styled by the settings form around it. It has no connection to the server. */
import type { OverlaySettings } from '../settings.ts';
import { playSound } from './sound.ts';
import { type AlertText, applyStyle, showAlert } from './stage.ts';

const sample: AlertText = { name: 'น้ำใจ', amountMinor: 15_050, message: 'Great stream! สู้ ๆ นะ' };
const pauseMs = 1000;

let settings: OverlaySettings = JSON.parse(document.body.dataset.settings ?? '{}');
applyStyle(settings);

addEventListener('message', ({ origin, data }) => {
  if (origin !== location.origin) return;
  const { sound, volume } = settings;
  settings = { ...settings, ...data };
  applyStyle(settings);
  if (settings.sound !== sound || settings.volume !== volume) playSound(settings);
});

for (;;) {
  await showAlert(0, sample, settings).gone;
  await new Promise((resolve) => setTimeout(resolve, pauseMs));
}

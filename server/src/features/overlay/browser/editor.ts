/**
 * The editor of looks: sends what is in the form to the preview with every change, picks the variation of the amount to
 * try, scales the preview, and says whether the colours can be read. Everything is saved by the form itself.
 */
import type { OverlaySettings } from '../settings.ts';
import { unreadable } from './contrast.ts';
import type { PreviewMessage } from './preview.ts';
import { isBuiltIn, type Variation, variationFor } from './variation.ts';

const find = <Kind extends Element>(selector: string): Kind => {
  const element = document.querySelector<Kind>(selector);
  if (!element) throw new Error(`the page has no ${selector}`);
  return element;
};

const studio = find<HTMLElement>('#studio');
const frame = find<HTMLIFrameElement>('#overlay-preview');
const sample = find<HTMLFormElement>('#sample');
const form = find<HTMLFormElement>('#look');
const plays = find<HTMLElement>('#sample-plays');
const contrast = find<HTMLElement>('#contrast');

const stored: readonly Variation[] = JSON.parse(studio.dataset.variations ?? '[]');
const settings: OverlaySettings = JSON.parse(studio.dataset.settings ?? '{}');
const editedFrom = Number(studio.dataset.from);

/** The width and height of a stream. */
const stage = { width: 1920, height: 1080 };

function textIn(fields: FormData, name: string): string {
  const value = fields.get(name);
  return typeof value === 'string' ? value : '';
}

function fileIn(fields: FormData, name: string): File | null {
  const value = fields.get(name);
  return value instanceof File && value.size > 0 ? value : null;
}

const numberOr = (text: string, least: number, most: number, otherwise: number): number => {
  const value = Number(text);
  return text.trim() !== '' && value >= least && value <= most ? value : otherwise;
};

/** The variation in the form. A value that is not valid yet leaves the stored one. */
function edited(fields: FormData): Variation {
  const before = stored.find(({ fromMinor }) => fromMinor === editedFrom) ?? variationFor(settings, 0);
  const own = textIn(fields, 'sound') === 'own' || fileIn(fields, 'sound_file') !== null;
  const typed = ['font', 'card', 'shadow', 'position', 'entrance', 'exit', 'accent', 'text', 'background'].map(
    (name) => [name, textIn(fields, name)],
  );
  return {
    ...before,
    ...Object.fromEntries(typed.filter(([, value]) => value !== '')),
    fromMinor: editedFrom === 0 ? 0 : Math.round(numberOr(textIn(fields, 'from'), 0.01, 1e6, editedFrom / 100) * 100),
    template: textIn(fields, 'template') || before.template,
    picture: fields.has('remove_picture') ? null : before.picture,
    sound: own ? textIn(fields, 'sound_now') || 'own' : textIn(fields, 'sound'),
    size: numberOr(textIn(fields, 'size'), 60, 200, before.size),
    seconds: numberOr(textIn(fields, 'seconds'), 2, 60, before.seconds),
  };
}

function nameOf(variation: Variation): string {
  const link = document.querySelector<HTMLElement>(`.variations [data-from="${variation.fromMinor}"]`);
  return link?.dataset.name ?? find<HTMLElement>('.variations [aria-current]').dataset.name ?? '';
}

function show(play = false): void {
  const fields = new FormData(form);
  const tried = new FormData(sample);
  const current = edited(fields);
  const variations = stored
    .map((each) => (each.fromMinor === editedFrom ? current : each))
    .toSorted((a, b) => a.fromMinor - b.fromMinor);
  const amountMinor = Math.round(numberOr(textIn(tried, 'sample_amount'), 0.01, 1e6, 50) * 100);
  const variation = variationFor({ ...settings, variations }, amountMinor);
  const isEdited = variation === current;
  const message: PreviewMessage = {
    settings: { ...settings, variations },
    text: { name: textIn(tried, 'sample_name'), amountMinor, message: textIn(tried, 'sample_message') },
    variation: variation.sound === 'own' && !isEdited ? { ...variation, sound: 'none' } : variation,
    picture: isEdited ? fileIn(fields, 'picture_file') : null,
    sound: isEdited && !isBuiltIn(variation.sound) ? fileIn(fields, 'sound_file') : null,
    play,
  };
  frame.contentWindow?.postMessage(message, location.origin);
  studio.dataset.ground = textIn(tried, 'ground');
  plays.textContent = (plays.dataset.words ?? '').replace('{variation}', () => nameOf(variation));
  tellContrast(current);
}

function tellContrast(variation: Variation): void {
  const problems = unreadable(variation);
  const { readable = '', ...words } = contrast.dataset;
  const warnings = problems.map(({ field, ratio }) => (words[field] ?? '').replace('{ratio}', ratio?.toFixed(1) ?? ''));
  const text = warnings.join(' ') || readable;
  contrast.classList.toggle('poor', warnings.length > 0);
  contrast.classList.toggle('good', warnings.length === 0);
  if (contrast.textContent !== text) contrast.textContent = text;
}

function scale(): void {
  frame.style.transform = `scale(${studio.clientWidth / stage.width})`;
}

form.addEventListener('input', () => show());
sample.addEventListener('input', () => show());
sample.addEventListener('submit', (event) => event.preventDefault());
sample.querySelector('button')?.addEventListener('click', () => show(true));
addEventListener('message', ({ origin, source, data }) => {
  if (origin === location.origin && source === frame.contentWindow && data === 'ready') show();
});
new ResizeObserver(scale).observe(studio);
scale();
// A preview that was ready before this page listened.
show();

import { displayName, displayText } from '../../../platform/web/browser/text.ts';
import { outlineColour } from './contrast.ts';
import { fileAddress, fonts, type SingleLook, type Variation } from './variation.ts';

/** The text of an alert. It is never interpreted as HTML. */
export interface AlertText {
  readonly name: string;
  readonly amountMinor: number;
  readonly message: string | null;
}

/** The duration of the animations that end an alert, in overlay.css. */
const leaveMs = 300;
const alignments = { top: 'start', middle: 'center', bottom: 'end' } as const;
const baht = new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 });

/** An alert that does not fit gets smaller letters and a smaller picture, step by step. Then the message is cut. */
const letterSizes = [1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3];

export interface StageStyle extends Pick<SingleLook, 'accent' | 'text' | 'background' | 'position'> {
  readonly variations?: readonly Variation[];
}

/** Sets the style of the page, that of the first look. By the CSSOM: the page's policy forbids inline styles. */
export function applyStyle({ position, variations, ...colours }: StageStyle): void {
  const { documentElement: page } = document;
  setColours(page, colours);
  page.style.setProperty('--alignment', alignments[position]);
  page.style.setProperty('--font', `"${fonts[variations?.[0]?.font ?? 'plex']}"`);
}

/** Gives the whole page one look: its colours, letters, card and shadow. */
export function applyLook({ font, card, shadow, ...colours }: Variation): void {
  const { documentElement: page } = document;
  setColours(page, colours);
  page.style.setProperty('--outline', outlineColour(colours.text));
  page.style.setProperty('--font', `"${fonts[font]}"`);
  Object.assign(page.dataset, { card, shadow });
}

function setColours(
  { style }: HTMLElement,
  { accent, text, background }: Pick<SingleLook, 'accent' | 'text' | 'background'>,
): void {
  style.setProperty('--accent', accent);
  style.setProperty('--text', text);
  style.setProperty('--background', background);
}

/** An alert on the screen. */
export interface ShownAlert {
  /** Resolves when the alert is removed. */
  readonly gone: Promise<void>;
  /** Removes it at once. */
  remove(): void;
}

export interface ShowOptions {
  /** The address of the picture, if it is not the uploaded one. */
  readonly picture?: string | undefined;
  /** The alert stays at least until this resolves. */
  readonly until?: Promise<void> | undefined;
  /** Stands still until it is removed. */
  readonly still?: boolean;
  /** A rehearsed alert comes, stays and goes so many times as fast, and says that it is one. */
  readonly pace?: number | undefined;
}

/** The overlay has no language of its own. */
const rehearsalLabel = 'ซ้อม · Rehearsal';

/** Adds an alert to the page before it returns. */
export function showAlert(
  sequence: number,
  text: AlertText,
  variation: Variation,
  { until, still = false, pace, ...options }: ShowOptions = {},
): ShownAlert {
  const alert = drawAlert(text, variation, options.picture);
  alert.dataset.sequence = String(sequence);
  alert.classList.toggle('still', still);
  if (pace !== undefined) {
    alert.style.setProperty('--pace', String(pace));
    alert.prepend(element('p', 'rehearsal', rehearsalLabel));
  }
  document.body.append(alert);
  fit(alert);
  const { promise: gone, resolve } = Promise.withResolvers<void>();
  let removed = false;
  const refit = () => !removed && fit(alert);
  // Letters and pictures that arrive late need another size.
  if (document.fonts.status === 'loading') void document.fonts.ready.then(refit);
  alert.querySelector('img')?.addEventListener('load', refit);
  const remove = () => {
    removed = true;
    clearTimeout(timer);
    alert.remove();
    resolve();
  };
  const leave = async () => {
    await until;
    if (removed) return;
    alert.classList.add('leaving');
    timer = setTimeout(remove, leaveMs / (pace ?? 1));
  };
  let timer = still ? undefined : setTimeout(leave, (variation.seconds * 1000) / (pace ?? 1));
  return { gone, remove };
}

function drawAlert(text: AlertText, variation: Variation, picture: string | undefined): HTMLElement {
  const alert = element('article', 'alert');
  const { card, shadow, position, entrance, exit, size, font } = variation;
  Object.assign(alert.dataset, { card, shadow, position, entrance, exit });
  setColours(alert, variation);
  alert.style.setProperty('--outline', outlineColour(variation.text));
  alert.style.setProperty('--size', String(size / 100));
  alert.style.setProperty('--font', `"${fonts[font]}"`);
  const address = picture ?? (variation.picture === null ? undefined : fileAddress(variation.picture));
  if (address !== undefined) alert.append(pictureOf(address));
  alert.append(headline(variation.template, text));
  const words = displayText(text.message ?? '');
  if (words !== '') alert.append(element('p', 'message', words));
  return alert;
}

function pictureOf(address: string): HTMLImageElement {
  const image = document.createElement('img');
  image.className = 'picture';
  image.alt = '';
  image.decoding = 'async';
  // The alert does without a picture that cannot be loaded.
  image.addEventListener('error', () => image.remove());
  image.src = address;
  return image;
}

/** Makes the letters smaller until the alert has room, then leaves the message as many lines as there is room for. */
function fit(alert: HTMLElement): void {
  const message = alert.querySelector<HTMLElement>('.message');
  message?.style.removeProperty('-webkit-line-clamp');
  const tooTall = () => alert.scrollHeight > alert.clientHeight;
  for (const size of letterSizes) {
    alert.style.setProperty('--letters', String(size));
    if (!tooTall()) return;
  }
  if (!message) return;
  const lineHeight = Number.parseFloat(getComputedStyle(message).lineHeight);
  const lines = Math.round(message.offsetHeight / lineHeight);
  for (let left = lines - 1; left >= 1 && tooTall(); left--)
    message.style.setProperty('-webkit-line-clamp', String(left));
}

function headline(template: string, { name, amountMinor }: AlertText): HTMLElement {
  const paragraph = element('p', 'line');
  for (const part of template.split(/(\{name\}|\{amount\})/)) {
    if (part === '{name}') paragraph.append(element('bdi', 'name', displayName(name)));
    else if (part === '{amount}') paragraph.append(element('strong', 'amount', `฿${baht.format(amountMinor / 100)}`));
    else paragraph.append(part);
  }
  return paragraph;
}

function element(tag: string, className: string, text = ''): HTMLElement {
  const created = document.createElement(tag);
  created.className = className;
  created.textContent = text;
  return created;
}

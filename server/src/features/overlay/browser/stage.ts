import { displayName, displayText } from '../../../platform/web/browser/text.ts';
import type { OverlaySettings } from '../settings.ts';

/** The text of an alert. It is never interpreted as HTML. */
export interface AlertText {
  readonly name: string;
  readonly amountMinor: number;
  readonly message: string | null;
}

/** The duration of the animation `leave` in overlay.css. */
const leaveMs = 300;
const alignments = { top: 'start', middle: 'center', bottom: 'end' } as const;
const baht = new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 });

/** An alert that does not fit gets smaller letters, step by step. Below the last the message is cut. */
const letterSizes = [1, 0.9, 0.8, 0.7, 0.6];

/** Sets colours and position through the CSSOM: the page's policy forbids inline styles. */
export function applyStyle({ accent, text, background, position }: OverlaySettings): void {
  const { style } = document.documentElement;
  style.setProperty('--accent', accent);
  style.setProperty('--text', text);
  style.setProperty('--background', background);
  style.setProperty('--alignment', alignments[position]);
}

/** An alert on the screen. */
export interface ShownAlert {
  /** Resolves when the alert is removed. */
  readonly gone: Promise<void>;
  /** Removes it at once. */
  remove(): void;
}

/** Adds an alert to the page before it returns. */
export function showAlert(sequence: number, alertText: AlertText, { template, seconds }: OverlaySettings): ShownAlert {
  const alert = element('article', 'alert');
  alert.dataset.sequence = String(sequence);
  alert.append(headline(template, alertText));
  const words = displayText(alertText.message ?? '');
  const message = words === '' ? undefined : element('p', 'message', words);
  if (message) alert.append(message);
  document.body.append(alert);
  fit(alert, message);
  const { promise: gone, resolve } = Promise.withResolvers<void>();
  const remove = () => {
    clearTimeout(leave);
    clearTimeout(end);
    alert.remove();
    resolve();
  };
  const leave = setTimeout(() => alert.classList.add('leaving'), seconds * 1000);
  const end = setTimeout(remove, seconds * 1000 + leaveMs);
  return { gone, remove };
}

/** Makes the letters smaller until the alert has room, then leaves the message as many lines as there is room for. */
function fit(alert: HTMLElement, message: HTMLElement | undefined): void {
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

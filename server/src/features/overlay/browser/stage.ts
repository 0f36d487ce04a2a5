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

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Sets colours and position through the CSSOM: the page's policy forbids inline styles. */
export function applyStyle({ accent, text, background, position }: OverlaySettings): void {
  const { style } = document.documentElement;
  style.setProperty('--accent', accent);
  style.setProperty('--text', text);
  style.setProperty('--background', background);
  style.setProperty('--alignment', alignments[position]);
}

/** Adds an alert to the page before it returns; the promise resolves when the alert is removed. */
export async function showAlert(
  sequence: number,
  alertText: AlertText,
  { template, seconds }: OverlaySettings,
): Promise<void> {
  const alert = element('article', 'alert');
  alert.dataset.sequence = String(sequence);
  alert.append(headline(template, alertText));
  if (alertText.message) alert.append(element('p', 'message', alertText.message));
  document.body.append(alert);
  await sleep(seconds * 1000);
  alert.classList.add('leaving');
  await sleep(leaveMs);
  alert.remove();
}

function headline(template: string, { name, amountMinor }: AlertText): HTMLElement {
  const paragraph = element('p', 'line');
  for (const part of template.split(/(\{name\}|\{amount\})/)) {
    if (part === '{name}') paragraph.append(element('strong', 'name', name));
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

import type { OverlaySettings } from '../settings.ts';

/** What an alert says. Everything in it is text, whatever it looks like. */
export interface Words {
  readonly name: string;
  readonly amountMinor: number;
  readonly message: string | null;
}

const leaveMs = 300;
const places = { top: 'start', middle: 'center', bottom: 'end' } as const;
const baht = new Intl.NumberFormat('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 });

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Colours and position, through the CSSOM: the page's policy allows no inline style. */
export function dress({ accent, text, background, position }: OverlaySettings): void {
  const { style } = document.documentElement;
  style.setProperty('--accent', accent);
  style.setProperty('--text', text);
  style.setProperty('--background', background);
  style.setProperty('--place', places[position]);
}

/** Puts an alert on screen before it returns; the promise ends when the alert has left. */
export async function show(sequence: number, words: Words, { template, seconds }: OverlaySettings): Promise<void> {
  const alert = element('article', 'alert');
  alert.dataset.sequence = String(sequence);
  alert.append(line(template, words));
  if (words.message) alert.append(element('p', 'message', words.message));
  document.body.append(alert);
  await sleep(seconds * 1000);
  alert.classList.add('leaving');
  await sleep(leaveMs);
  alert.remove();
}

function line(template: string, { name, amountMinor }: Words): HTMLElement {
  const whole = element('p', 'line');
  for (const part of template.split(/(\{name\}|\{amount\})/)) {
    if (part === '{name}') whole.append(element('strong', 'name', name));
    else if (part === '{amount}') whole.append(element('strong', 'amount', `฿${baht.format(amountMinor / 100)}`));
    else whole.append(part);
  }
  return whole;
}

function element(tag: string, className: string, text = ''): HTMLElement {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  return made;
}

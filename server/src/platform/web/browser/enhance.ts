/**
 * What scripts add to every page: copying a value, a menu that closes by itself, and forms that a double click sends
 * once. Pages work without.
 */
import { copyOnClick } from './copy.ts';

for (const button of document.querySelectorAll<HTMLButtonElement>('button[data-copy]')) {
  const source = document.getElementById(button.dataset.copy ?? '');
  if (!source) continue;
  copyOnClick(button, () => {
    if (!(source instanceof HTMLInputElement)) return source.textContent;
    source.select();
    return source.value;
  });
}

const menu = document.querySelector<HTMLDetailsElement>('details.menu');

document.addEventListener('click', (event) => {
  if (menu?.open && event.target instanceof Node && !menu.contains(event.target)) menu.open = false;
});

document.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape' || !menu?.open) return;
  menu.open = false;
  menu.querySelector('summary')?.focus();
});

/** Longer than a double click. Whoever stopped the page from loading can send the form again afterwards. */
const resendMs = 10_000;
const sentAt = new Map<HTMLFormElement, number>();

// The answer to the first click may show a secret once. A second request would replace that answer.
document.addEventListener('submit', (event) => {
  const form = event.target;
  if (event.defaultPrevented || !(form instanceof HTMLFormElement) || form.method !== 'post') return;
  const before = sentAt.get(form);
  if (before !== undefined && event.timeStamp - before < resendMs) event.preventDefault();
  else sentAt.set(form, event.timeStamp);
});

// A page that the browser kept comes back by its back button.
addEventListener('pageshow', () => sentAt.clear());

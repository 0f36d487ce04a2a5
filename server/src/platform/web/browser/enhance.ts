/**
 * What scripts add to every page: copying a value, and a menu that closes by itself. Pages work without.
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

/** What scripts add to every page: copying a value, and a menu that closes by itself. Pages work without. */

for (const button of document.querySelectorAll<HTMLButtonElement>('button[data-copy]')) {
  const source = document.getElementById(button.dataset.copy ?? '');
  if (!(source instanceof HTMLInputElement) || !navigator.clipboard) continue;
  const label = button.textContent;
  let restore: ReturnType<typeof setTimeout> | undefined;
  button.hidden = false;
  button.setAttribute('aria-live', 'polite');
  button.addEventListener('click', async () => {
    source.select();
    await navigator.clipboard.writeText(source.value);
    button.textContent = button.dataset.copied ?? label;
    clearTimeout(restore);
    restore = setTimeout(() => {
      button.textContent = label;
    }, 2000);
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

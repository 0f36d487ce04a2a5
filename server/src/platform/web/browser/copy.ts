/** Shows the button where there is a clipboard, and copies what `read` gives; the button says so for a moment. */
export function copyOnClick(button: HTMLButtonElement, read: () => string): void {
  if (!navigator.clipboard) return;
  const label = button.textContent;
  let restore: ReturnType<typeof setTimeout> | undefined;
  button.hidden = false;
  button.setAttribute('aria-live', 'polite');
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(read());
    button.textContent = button.dataset.copied ?? label;
    clearTimeout(restore);
    restore = setTimeout(() => {
      button.textContent = label;
    }, 2000);
  });
}

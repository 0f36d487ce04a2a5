/**
 * Keeps the list of what happened up to date. Only the server writes text and times, so the list is fetched as it is. What
 * is unfolded stays so, and while a button of the list has the focus nothing moves under it.
 */
const refreshMs = 2000;

const list = document.querySelector<HTMLElement>('[data-console]');

const unfolded = (): string[] =>
  [...document.querySelectorAll<HTMLDetailsElement>('[data-console] details[open]')].map(
    ({ dataset }) => dataset.key ?? '',
  );

async function refresh(): Promise<void> {
  if (!list || document.visibilityState !== 'visible' || list.contains(document.activeElement)) return;
  const response = await fetch(list.dataset.console ?? '', { headers: { accept: 'text/html' } });
  if (response.redirected) return location.reload(); // the session has ended
  if (!response.ok) return;
  const { body } = new DOMParser().parseFromString(await response.text(), 'text/html');
  if (body.textContent === list.textContent) return;
  const open = unfolded();
  list.replaceChildren(...body.childNodes);
  for (const details of list.querySelectorAll('details')) details.open = open.includes(details.dataset.key ?? '');
}

setInterval(() => refresh().catch(() => {}), refreshMs);
document.addEventListener('visibilitychange', () => refresh().catch(() => {}));

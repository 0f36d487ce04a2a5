/**
 * Keeps the dashboard up to date. An event only triggers a new fetch of the page, so that only the server formats text,
 * sums and times. A hidden page closes its stream and catches up when it becomes visible.
 */

/** The least time between two refreshes. */
const refreshIntervalMs = 1000;
/** The wait after the server has refused the stream. */
const refusedRetryMs = 30_000;

const badge = document.querySelector<HTMLElement>('[data-live-badge]');
const announcement = document.querySelector<HTMLElement>('[data-live-news]');
let stream: EventSource | undefined;
let refreshing = false;
let refreshQueued = false;
let retry: ReturnType<typeof setTimeout> | undefined;

const tipKeys = (): Set<string> =>
  new Set([...document.querySelectorAll<HTMLElement>('[data-key]')].map((row) => row.dataset.key ?? ''));

/** An open `details` element stays open and keeps the focus. */
function replace(old: Element, fresh: Element): void {
  if (old.innerHTML === fresh.innerHTML) return;
  const open = old.querySelector('details[open]') !== null;
  const focused = old.contains(document.activeElement);
  old.replaceChildren(...fresh.childNodes);
  const details = old.querySelector('details');
  if (details) details.open = open;
  if (focused) old.querySelector('summary')?.focus();
}

/** Marks the new tips, and announces the newest to screen readers. */
function announce(known: Set<string>): void {
  const rows = [...document.querySelectorAll<HTMLElement>('[data-live=tips] [data-key]')];
  const fresh = rows.filter((row) => !known.has(row.dataset.key ?? ''));
  for (const row of fresh) row.classList.add('fresh');
  const [, name, amount] = fresh[0]?.children ?? [];
  if (announcement && name && amount)
    announcement.textContent = (announcement.dataset.liveNews ?? '')
      .replace('{amount}', amount.textContent ?? '')
      .replace('{name}', () => name.textContent ?? '');
}

async function fetchPage(): Promise<void> {
  const response = await fetch(location.href, { headers: { accept: 'text/html' } });
  // The session has ended.
  if (response.redirected) return location.reload();
  if (!response.ok) return;
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  const known = tipKeys();
  for (const old of document.querySelectorAll<HTMLElement>('[data-live]')) {
    const fresh = page.querySelector(`[data-live="${old.dataset.live}"]`);
    if (fresh) replace(old, fresh);
  }
  announce(known);
}

/** Refreshes run one at a time. A call during a refresh queues one more. */
async function refresh(): Promise<void> {
  refreshQueued = true;
  if (refreshing) return;
  refreshing = true;
  while (refreshQueued) {
    refreshQueued = false;
    await fetchPage().catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, refreshIntervalMs));
  }
  refreshing = false;
}

function openStream(): void {
  clearTimeout(retry);
  stream?.close();
  stream = new EventSource('/dashboard/stream');
  // The stream does not carry tips from before it was open.
  stream.onopen = () => {
    if (badge) badge.hidden = false;
    void refresh();
  };
  stream.onmessage = () => void refresh();
  stream.onerror = () => {
    if (badge) badge.hidden = true;
    if (stream?.readyState !== EventSource.CLOSED) return;
    retry = setTimeout(openStream, refusedRetryMs);
    void refresh();
  };
}

function closeStream(): void {
  clearTimeout(retry);
  stream?.close();
  if (badge) badge.hidden = true;
}

const followVisibility = () => (document.visibilityState === 'visible' ? openStream() : closeStream());
document.addEventListener('visibilitychange', followVisibility);
followVisibility();

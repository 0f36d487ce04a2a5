/**
 * Lets the dashboard follow the tips. An event only says that there is news; what stands on the page is fetched anew, so
 * that words, sums and times are written in one place. A hidden page listens to nothing and catches up when it is seen.
 */

/** The least time between two looks, however many tips come in, and the wait after the stream was refused. */
const restMs = 1000;
const refusedMs = 30_000;

const badge = document.querySelector<HTMLElement>('[data-live-badge]');
const news = document.querySelector<HTMLElement>('[data-live-news]');
let stream: EventSource | undefined;
let looking = false;
let again = false;
let retry: ReturnType<typeof setTimeout> | undefined;

const keys = (): Set<string> =>
  new Set([...document.querySelectorAll<HTMLElement>('[data-key]')].map((row) => row.dataset.key ?? ''));

/** What the reader has unfolded stays so, and keeps the focus. */
function replace(old: Element, fresh: Element): void {
  if (old.innerHTML === fresh.innerHTML) return;
  const open = old.querySelector('details[open]') !== null;
  const focused = old.contains(document.activeElement);
  old.replaceChildren(...fresh.childNodes);
  const details = old.querySelector('details');
  if (details) details.open = open;
  if (focused) old.querySelector('summary')?.focus();
}

function tell(known: Set<string>): void {
  const rows = [...document.querySelectorAll<HTMLElement>('[data-live=tips] [data-key]')];
  const fresh = rows.filter((row) => !known.has(row.dataset.key ?? ''));
  for (const row of fresh) row.classList.add('fresh');
  const [, name, amount] = fresh[0]?.children ?? [];
  if (news && name && amount)
    news.textContent = (news.dataset.liveNews ?? '')
      .replace('{amount}', amount.textContent ?? '')
      .replace('{name}', () => name.textContent ?? '');
}

async function fetchPage(): Promise<void> {
  const answer = await fetch(location.href, { headers: { accept: 'text/html' } });
  // Signed out meanwhile.
  if (answer.redirected) return location.reload();
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
  const known = keys();
  for (const old of document.querySelectorAll<HTMLElement>('[data-live]')) {
    const fresh = page.querySelector(`[data-live="${old.dataset.live}"]`);
    if (fresh) replace(old, fresh);
  }
  tell(known);
}

/** One look at a time; what comes in meanwhile makes one more. */
async function look(): Promise<void> {
  again = true;
  if (looking) return;
  looking = true;
  while (again) {
    again = false;
    await fetchPage().catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, restMs));
  }
  looking = false;
}

function listen(): void {
  clearTimeout(retry);
  stream?.close();
  stream = new EventSource('/dashboard/live');
  // What came in before the stream was open is on no stream.
  stream.onopen = () => {
    if (badge) badge.hidden = false;
    void look();
  };
  stream.onmessage = () => void look();
  stream.onerror = () => {
    if (badge) badge.hidden = true;
    if (stream?.readyState !== EventSource.CLOSED) return;
    retry = setTimeout(listen, refusedMs);
    void look();
  };
}

function rest(): void {
  clearTimeout(retry);
  stream?.close();
  if (badge) badge.hidden = true;
}

const follow = () => (document.visibilityState === 'visible' ? listen() : rest());
document.addEventListener('visibilitychange', follow);
follow();

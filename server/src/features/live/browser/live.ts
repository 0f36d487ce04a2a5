/**
 * Live control. The server draws every part of the page; this script asks for a fresh one whenever something has changed,
 * and sends the forms without leaving the page. It polls as well: hints can get lost, and a poll that fails is how a dead
 * connection is noticed.
 */

/** The least time between two refreshes. */
const refreshIntervalMs = 300;
const pollMs = 5000;
const timeoutMs = 4000;
const retryStreamMs = 3000;

const root = document.querySelector<HTMLElement>('#live');
const connection = document.querySelector<HTMLElement>('[data-connection]');
const news = document.querySelector<HTMLElement>('[data-news]');
const { base = '', failed = '', limited = '', newHeld = '' } = root?.dataset ?? {};
let refreshing = false;
let refreshQueued = false;
let refreshAtEnd: ReturnType<typeof setTimeout> | undefined;
let ended = false;
/** Resolves when no finger or mouse button is down: a button that is replaced while it is pressed would not be clicked. */
let released = Promise.resolve();
/** The parts as the server drew them last. */
const drawn = new Map<string, string>();

function setConnection(state: 'live' | 'lost'): void {
  if (!connection || connection.dataset.connection === state) return;
  connection.dataset.connection = state;
  connection.textContent = connection.dataset[state] ?? '';
}

function announce(text: string): void {
  if (news) news.textContent = text;
}

/** Puts the focus where it was; if that button is gone, onto the first one of its part, or its title. */
function replace(old: HTMLElement, fresh: HTMLElement): void {
  const part = old.dataset.part ?? '';
  if (drawn.get(part) === fresh.innerHTML) return;
  const focused = old.contains(document.activeElement) ? document.activeElement : null;
  if (focused instanceof HTMLInputElement && focused.type === 'range') return; // it is being moved
  drawn.set(part, fresh.innerHTML);
  const open = [...old.querySelectorAll('details')].map((details) => details.open);
  old.replaceChildren(...fresh.childNodes);
  old.dataset.count = fresh.dataset.count ?? '';
  old.querySelectorAll('details').forEach((details, index) => {
    details.open = open[index] ?? false;
  });
  if (!focused) return;
  const again = focused.id ? document.getElementById(focused.id) : null;
  (again ?? old.querySelector<HTMLElement>('button') ?? old.querySelector<HTMLElement>('h2'))?.focus();
}

/** The link was revoked or the session has ended: nothing of the queue stays on the screen. */
function end(page: Document): void {
  ended = true;
  clearInterval(polling);
  stream?.close();
  document.querySelector('main')?.replaceChildren(...(page.querySelector('main')?.childNodes ?? []));
}

/** Returns how long to wait before the page is asked for again, in milliseconds, if the server says so. */
async function fetchPage(): Promise<number | undefined> {
  const response = await fetch(base + location.search, {
    headers: { accept: 'text/html' },
    signal: AbortSignal.timeout(timeoutMs),
  });
  if (response.redirected) return void location.reload(); // to sign in again
  if (response.status === 429) {
    setConnection('lost');
    refreshQueued = true;
    return 1000 * (Number(response.headers.get('retry-after')) || 1);
  }
  const page = new DOMParser().parseFromString(await response.text(), 'text/html');
  if (response.status === 404) return void end(page);
  if (!response.ok) throw new Error(`the server answered ${response.status}`);
  setConnection('live');
  await released;
  const heldBefore = Number(root?.querySelector<HTMLElement>('[data-part=held]')?.dataset.count);
  for (const old of document.querySelectorAll<HTMLElement>('[data-part]')) {
    const fresh = page.querySelector<HTMLElement>(`[data-part="${old.dataset.part}"]`);
    if (fresh) replace(old, fresh);
  }
  const held = Number(root?.querySelector<HTMLElement>('[data-part=held]')?.dataset.count);
  if (held > heldBefore) announce(newHeld);
  watchEnd();
  enhanceVolume();
  return undefined;
}

/** What plays leaves the screen by itself, without a hint. */
function watchEnd(): void {
  clearTimeout(refreshAtEnd);
  const endsIn = root?.querySelector<HTMLElement>('[data-ends-in]')?.dataset.endsIn;
  if (endsIn !== undefined) refreshAtEnd = setTimeout(() => void refresh(), Number(endsIn) + 50);
}

/** Refreshes run one at a time. A call during a refresh queues one more. */
async function refresh(): Promise<void> {
  refreshQueued = true;
  if (refreshing) return;
  refreshing = true;
  while (refreshQueued && !ended) {
    refreshQueued = false;
    const waitMs = await fetchPage().catch(() => void setConnection('lost'));
    await new Promise((resolve) => setTimeout(resolve, waitMs ?? refreshIntervalMs));
  }
  refreshing = false;
}

async function send(form: HTMLFormElement): Promise<void> {
  const fields = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (typeof value === 'string') fields.set(name, value);
  try {
    const response = await fetch(form.action, {
      method: 'POST',
      headers: { 'x-live-control': '1' },
      body: fields,
      signal: AbortSignal.timeout(timeoutMs),
    });
    if (response.redirected) return location.reload();
    if (response.status === 429) announceFailure(limited);
    else if (!response.ok && response.status !== 404) announceFailure(failed);
  } catch {
    setConnection('lost');
    announceFailure(failed);
  }
  await refresh();
}

function announceFailure(text: string): void {
  const notice = document.createElement('p');
  notice.className = 'failure-note';
  notice.setAttribute('role', 'alert');
  notice.textContent = text;
  root?.prepend(notice);
  setTimeout(() => notice.remove(), timeoutMs);
}

root?.addEventListener('submit', (event) => {
  if (!(event.target instanceof HTMLFormElement)) return;
  event.preventDefault();
  void send(event.target);
});

/** The slider takes effect while it is moved; its button is for pages without scripts. */
function enhanceVolume(): void {
  const slider = document.querySelector<HTMLInputElement>('#volume');
  const button = slider?.form?.querySelector('button');
  if (button) button.hidden = true;
}

root?.addEventListener('input', ({ target }) => {
  if (!(target instanceof HTMLInputElement) || target.id !== 'volume') return;
  const output = target.form?.querySelector('output');
  if (output) output.value = target.value;
});

root?.addEventListener('change', ({ target }) => {
  if (target instanceof HTMLInputElement && target.id === 'volume' && target.form) void send(target.form);
});

let stream: EventSource | undefined;

function openStream(): void {
  if (ended) return;
  stream?.close();
  stream = new EventSource(`${base}/stream`);
  stream.onopen = () => void refresh();
  stream.onmessage = () => void refresh();
  stream.onerror = () => {
    if (stream?.readyState === EventSource.CLOSED) setTimeout(openStream, retryStreamMs);
    void refresh();
  };
}

addEventListener('pointerdown', () => {
  released = new Promise((resolve) => {
    for (const type of ['pointerup', 'pointercancel'])
      addEventListener(type, () => setTimeout(resolve), { once: true });
  });
});

const polling = setInterval(() => document.visibilityState === 'visible' && refresh(), pollMs);
document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && refresh());
addEventListener('offline', () => setConnection('lost'));
addEventListener('online', () => void refresh());
for (const part of document.querySelectorAll<HTMLElement>('[data-part]'))
  drawn.set(part.dataset.part ?? '', part.innerHTML);
watchEnd();
enhanceVolume();
openStream();

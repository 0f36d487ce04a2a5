/** What scripts add to the docs: copying code, tabs of languages, a search while one types, and where the reader is. */
import { copyOnClick } from '../../../platform/web/browser/copy.ts';
import { type Entry, search } from './search.ts';
import { makeTabs } from './tabs.ts';

followMoved();

for (const sample of document.querySelectorAll<HTMLElement>('.sample')) makeTabs(sample);

const guide = document.querySelector<HTMLElement>('.guide');
for (const block of guide?.querySelectorAll('div.code') ?? []) {
  const button = document.createElement('button');
  button.className = 'copy';
  button.type = 'button';
  button.hidden = true;
  button.textContent = guide?.dataset.copy ?? '';
  button.dataset.copied = guide?.dataset.copied;
  block.prepend(button);
}

for (const button of document.querySelectorAll<HTMLButtonElement>('.code .copy')) {
  const code = button.closest('.code')?.querySelector('code');
  if (code) copyOnClick(button, () => code.textContent ?? '');
}

const contents = document.querySelector<HTMLDetailsElement>('.contents');
if (contents) {
  searchWhileTyping(contents);
  // On a phone the contents lie above the text: out of the way once something was chosen.
  contents.addEventListener('click', (event) => {
    if (event.target instanceof Element && event.target.closest('a')) contents.open = false;
  });
  markSections(contents);
}

/** The reference was one page: `/docs#createTip` leads to where that is now. */
function followMoved(): void {
  const target = document.getElementById(location.hash.slice(1));
  const link = target?.matches('[data-moved]') ? target.querySelector('a') : undefined;
  if (link) location.replace(link.href);
}

function searchWhileTyping(box: HTMLDetailsElement): void {
  const input = box.querySelector<HTMLInputElement>('.find input');
  const found = box.querySelector<HTMLElement>('.found');
  const nothing = box.querySelector<HTMLElement>('.nothing');
  const outline = box.querySelector<HTMLElement>('.outline');
  if (!input || !found || !nothing || !outline) return;

  let entries: Promise<Entry[]> | undefined;
  const load = () => {
    entries ??= fetch('/docs/search.json').then((response) => response.json());
    // The form still leads to the page of results.
    entries.catch(() => {
      entries = undefined;
    });
    return entries;
  };

  async function show(query: string): Promise<void> {
    const list = search(await load(), query, 12);
    if (input?.value !== query || !found || !nothing || !outline) return;
    const empty = query.trim() === '';
    found.replaceChildren(...list.map(resultItem));
    found.hidden = list.length === 0;
    nothing.hidden = empty || list.length > 0;
    outline.hidden = !empty;
  }

  input.addEventListener('focus', () => void load().catch(() => {}));
  input.addEventListener('input', () => void show(input.value).catch(() => {}));
  input.form?.addEventListener('submit', (event) => {
    const first = found.hidden ? undefined : found.querySelector('a');
    if (!first) return;
    event.preventDefault();
    first.click();
  });
  document.addEventListener('keydown', (event) => {
    const typing = event.target instanceof HTMLElement && event.target.matches('input, textarea, select');
    if (event.key !== '/' || typing || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    box.open = true;
    input.focus();
  });
}

function resultItem({ kind, title, detail, href }: Entry): HTMLLIElement {
  const item = document.createElement('li');
  const link = document.createElement('a');
  link.href = href;
  const parts: [tag: string, text: string, className: string][] = [
    ['strong', title, ''],
    ['span', kind, 'kind'],
    ['span', detail, 'detail'],
  ];
  for (const [tag, text, className] of parts) {
    const part = document.createElement(tag);
    part.textContent = text;
    if (className) part.className = className;
    if (className !== 'kind') part.lang = 'en';
    link.append(part, ' ');
  }
  item.append(link);
  return item;
}

/** Marks the section that the reader sees, and keeps its link in view. */
function markSections(box: HTMLDetailsElement): void {
  const links = new Map(
    [...box.querySelectorAll<HTMLAnchorElement>('a[href^="#"]')].map((link) => [link.hash.slice(1), link]),
  );
  const seen = new IntersectionObserver(
    (entries) => {
      const entry = entries.findLast(({ isIntersecting }) => isIntersecting);
      const link = entry && links.get(entry.target.id);
      if (!link) return;
      for (const each of links.values()) each.removeAttribute('aria-current');
      link.setAttribute('aria-current', 'true');
      keepInView(link, box);
    },
    { rootMargin: '0px 0px -70% 0px' },
  );
  for (const id of links.keys()) {
    const target = document.getElementById(decodeURIComponent(id));
    if (target) seen.observe(target);
  }
}

/** Scrolls the contents alone, never the page. */
function keepInView(link: HTMLElement, box: HTMLElement): void {
  const [inner, outer] = [link.getBoundingClientRect(), box.getBoundingClientRect()];
  if (inner.top < outer.top || inner.bottom > outer.bottom)
    box.scrollTop += inner.top - outer.top - box.clientHeight / 2;
}

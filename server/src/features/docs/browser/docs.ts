/** What scripts add to the reference: copying code, finding in the contents, and showing where the reader is. */
import { copyOnClick } from '../../../platform/web/browser/copy.ts';

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

/** Scrolls the contents alone, never the page. */
function keepInView(link: HTMLElement, box: HTMLElement): void {
  const [inner, outer] = [link.getBoundingClientRect(), box.getBoundingClientRect()];
  if (inner.top < outer.top || inner.bottom > outer.bottom)
    box.scrollTop += inner.top - outer.top - box.clientHeight / 2;
}

const contents = document.querySelector<HTMLDetailsElement>('.contents');
const find = contents?.querySelector<HTMLInputElement>('.find');

if (contents && find) {
  const items = [...contents.querySelectorAll<HTMLLIElement>('nav > ul > li, nav > div > ul > li')];
  const lists = [...contents.querySelectorAll<HTMLElement>('nav > ul, nav > div > ul')];
  const nothing = contents.querySelector<HTMLElement>('.nothing');
  find.hidden = false;
  find.addEventListener('input', () => {
    const wanted = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const item of items) {
      const words = `${item.textContent} ${item.dataset.words ?? ''}`.toLowerCase();
      item.hidden = !wanted.every((word) => words.includes(word));
    }
    for (const list of lists) {
      const empty = [...list.children].every((item) => item instanceof HTMLElement && item.hidden);
      list.hidden = empty;
      if (list.previousElementSibling instanceof HTMLElement && list.previousElementSibling.matches('h2'))
        list.previousElementSibling.hidden = empty;
    }
    if (nothing) nothing.hidden = items.some((item) => !item.hidden);
  });
  find.addEventListener('keydown', (event) => {
    if (event.key === 'Enter')
      items
        .find((item) => !item.hidden)
        ?.querySelector('a')
        ?.click();
  });
  document.addEventListener('keydown', (event) => {
    const typing = event.target instanceof HTMLElement && event.target.matches('input, textarea, select');
    if (event.key !== '/' || typing || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    contents.open = true;
    find.focus();
  });

  // On a phone the contents lie above the text: out of the way once something was chosen.
  contents.addEventListener('click', (event) => {
    if (event.target instanceof Element && event.target.closest('a')) contents.open = false;
  });

  const links = new Map(
    [...contents.querySelectorAll<HTMLAnchorElement>('a[href^="#"]')].map((link) => [link.hash.slice(1), link]),
  );
  const seen = new IntersectionObserver(
    (entries) => {
      const entry = entries.findLast(({ isIntersecting }) => isIntersecting);
      const link = entry && links.get(entry.target.id);
      if (!link) return;
      for (const each of links.values()) each.removeAttribute('aria-current');
      link.setAttribute('aria-current', 'true');
      keepInView(link, contents);
    },
    { rootMargin: '0px 0px -70% 0px' },
  );
  for (const id of links.keys()) {
    const target = document.getElementById(id);
    if (target) seen.observe(target);
  }
}

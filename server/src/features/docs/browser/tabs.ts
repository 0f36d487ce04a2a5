/** The languages of the samples as tabs (ARIA Authoring Practices). A choice holds for all samples, and is remembered. */

const storageKey = 'docs-language';
const groups: ((language: string) => void)[] = [];
let made = 0;

export function makeTabs(sample: HTMLElement): void {
  const figures = [...sample.querySelectorAll<HTMLElement>('[data-language]')];
  if (figures.length < 2) return;
  const list = document.createElement('div');
  list.className = 'tabs';
  list.setAttribute('role', 'tablist');
  list.setAttribute('aria-label', sample.dataset.title ?? '');
  const tabs = figures.map((figure) => {
    const language = figure.dataset.language ?? '';
    const tab = document.createElement('button');
    tab.type = 'button';
    tab.textContent = language;
    tab.setAttribute('role', 'tab');
    figure.id = `sample-${++made}`;
    tab.id = `${figure.id}-tab`;
    tab.setAttribute('aria-controls', figure.id);
    figure.setAttribute('role', 'tabpanel');
    figure.setAttribute('aria-labelledby', tab.id);
    tab.addEventListener('click', () => choose(language, tab));
    return tab;
  });

  function show(language: string): void {
    const index = Math.max(
      figures.findIndex((figure) => figure.dataset.language === language),
      0,
    );
    for (const [i, figure] of figures.entries()) {
      figure.hidden = i !== index;
      tabs[i]?.setAttribute('aria-selected', String(i === index));
      if (tabs[i]) tabs[i].tabIndex = i === index ? 0 : -1;
    }
  }

  list.addEventListener('keydown', (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    const focused = document.activeElement;
    const at = focused instanceof HTMLButtonElement ? tabs.indexOf(focused) : -1;
    if (step === undefined || at === -1) return;
    event.preventDefault();
    const next = tabs[(at + step + tabs.length) % tabs.length];
    next?.focus();
    next?.click();
  });
  list.append(...tabs);
  sample.prepend(list);
  sample.dataset.tabs = '';
  groups.push(show);
  show(remembered());
}

/** Samples above the one that was clicked change their height: it stays where it is on the screen. */
function choose(language: string, tab: HTMLElement): void {
  const before = tab.getBoundingClientRect().top;
  for (const show of groups) show(language);
  scrollBy({ top: tab.getBoundingClientRect().top - before, behavior: 'instant' });
  try {
    localStorage.setItem(storageKey, language);
  } catch {
    // Storage can be switched off. The choice then holds for this page.
  }
}

function remembered(): string {
  try {
    return localStorage.getItem(storageKey) ?? '';
  } catch {
    return '';
  }
}

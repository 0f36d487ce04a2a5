import { heading } from '../../platform/web/blocks.ts';
import { attributes, type Html, html } from '../../platform/web/html.ts';
import type { Entry } from './browser/search.ts';
import { methodBadge } from './operation-views.ts';
import type { SitePage } from './site.ts';
import type { T } from './words.ts';

/** A page of the docs: the contents, and the text beside them. */
export const docsBody = (pages: readonly SitePage[], current: SitePage | undefined, text: Html, t: T): Html =>
  html`<div class="docs">!${contents(pages, current, t)}<div class="docs-text">!${text}</div></div>`;

/** Beside the text on a wide screen, folded above it on a phone. Without scripts the search is a page of its own. */
function contents(pages: readonly SitePage[], current: SitePage | undefined, t: T): Html {
  const list = (group: SitePage['group']) =>
    pages.filter((page) => page.group === group).map((page) => pageLink(page, current));
  return html`
<details class="contents" tabindex="0">
  <summary>${t('contents')}</summary>
  <nav aria-label="${t('contents')}">
    !${searchForm(t, 'find')}
    <p class="nothing" hidden>${t('nothing')}</p>
    <ul class="found" hidden aria-label="${t('results')}"></ul>
    <div class="outline">
      <ul>!${list('home')}</ul>
      <h2>${t('guides')}</h2>
      <ul>!${list('guides')}</ul>
      <h2>${t('reference')}</h2>
      <ul>!${list('reference')}</ul>
    </div>
  </nav>
</details>`;
}

/** The sections of the open page are listed below it; an event type opens the list of all. */
function pageLink(page: SitePage, current: SitePage | undefined): Html {
  const { path, title, lang, sections } = page;
  const isEventList = current?.group === 'event' && sections.some(({ href }) => href === current.path);
  const inner = page === current || isEventList ? sections : [];
  const items = inner.map(
    ({ href, text, method: verb }) =>
      html`<li><a!${attributes({ href, 'aria-current': href === current?.path ? 'page' : undefined })}><span>${text}</span>!${verb ? methodBadge(verb) : ''}</a></li>`,
  );
  return html`<li!${attributes({ lang })}><a!${attributes({ href: path, 'aria-current': page === current ? 'page' : undefined })}>${title}</a>!${items.length > 0 ? html`<ul>!${items}</ul>` : ''}</li>`;
}

const searchForm = (t: T, name: string, query = ''): Html => html`
<form class="${name}" role="search" action="/docs/search">
  <input type="search" name="q" value="${query}" maxlength="100" placeholder="${t('search')}" aria-label="${t('searchLabel')}" autocomplete="off">
  <button class="visually-hidden">${t('search')}</button>
</form>`;

export const resultsPage = (query: string, found: readonly Entry[], t: T): Html => html`
!${heading({ title: t('results'), intro: found.length > 0 ? t('found', { count: found.length }) : '' })}
!${searchForm(t, 'search', query)}
!${found.length === 0 && query !== '' ? html`<p>${t('nothing')}</p>` : ''}
<ul class="results">!${found.map(
  ({ kind, title, detail, href }) =>
    html`<li><a class="result" href="${href}"><span class="kind">${kind}</span> <strong lang="en">${title}</strong> <span lang="en">${detail}</span></a></li>`,
)}</ul>`;

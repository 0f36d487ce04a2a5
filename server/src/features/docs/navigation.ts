import { attributes, type Html, html } from '../../platform/web/html.ts';
import { type ApiDocument, byTag } from './document.ts';
import type { Guide } from './guides.ts';
import type { T } from './words.ts';

export interface NavigationParts {
  readonly guides: readonly Guide[];
  readonly document: ApiDocument;
  /** The guide that is open; the reference if none. */
  readonly current?: Guide | undefined;
  readonly t: T;
}

/** Beside the text on a wide screen, folded above it on a phone. The field to search in shows itself with scripts. */
export function sideNavigation({ guides, document, current, t }: NavigationParts): Html {
  const reference = current ? '/docs' : '';
  const section = (id: string, label: string) => html`<li><a href="${reference}#${id}">${label}</a></li>`;
  const tags = byTag(document).map(
    ({ name, operations }) => html`
<h2>${name}</h2>
<ul>!${operations.map(
      ({ operationId, method, path, summary = operationId }) =>
        html`<li data-words="${method} ${path} ${operationId}"><a href="${reference}#${operationId}"><span>${summary}</span><span class="method ${method.toLowerCase()}">${method}</span></a></li>`,
    )}</ul>`,
  );
  return html`
<details class="contents">
  <summary>${t('contents')}</summary>
  <nav aria-label="${t('contents')}">
    <input class="find" type="search" hidden placeholder="${t('find')}" aria-label="${t('find')}">
    <p class="nothing" hidden>${t('nothing')}</p>
    <h2>${t('guides')}</h2>
    <ul>!${guides.map((guide) => guideLinks(guide, guide === current))}</ul>
    <h2>${t('reference')}</h2>
    <ul>!${section('start', t('start'))}!${section('scopes', t('scopes'))}!${section('limits', t('limits'))}!${section('events', t('events'))}!${section('errors', t('errors'))}</ul>
    <div lang="en">!${tags}</div>
  </nav>
</details>`;
}

function guideLinks({ name, title, headings }: Guide, open: boolean): Html {
  const inner = open
    ? headings.filter(({ level }) => level === 2).map(({ id, text }) => html`<li><a href="#${id}">${text}</a></li>`)
    : [];
  return html`<li lang="en"><a!${attributes({ href: `/docs/${name}`, 'aria-current': open ? 'page' : undefined })}>${title}</a>!${inner.length > 0 ? html`<ul>!${inner}</ul>` : ''}</li>`;
}

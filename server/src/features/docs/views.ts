import { errorTable } from '../../errors.ts';
import { heading, linkButton, table } from '../../platform/web/blocks.ts';
import { attributes, type Html, html } from '../../platform/web/html.ts';
import { describeEventTypes } from '../events/index.ts';
import { limits, scopes } from '../oauth/index.ts';
import { closeReasons } from '../sockets/index.ts';
import type { Guide } from './guides.ts';
import { inline } from './markdown.ts';
import { type ApiDocument, byTag } from './openapi.ts';
import { codeFigure, method, operationSection } from './operation-views.ts';
import type { T } from './words.ts';

export interface DocsView {
  readonly document: ApiDocument;
  readonly guides: readonly Guide[];
  /** The guide to show; the reference if none. */
  readonly current: Guide | undefined;
  readonly t: T;
}

/** The sections of the reference before its operations. Each id is also the key of its title. */
const sectionIds = ['start', 'scopes', 'limits', 'events', 'errors'] as const;

/** A page of the docs: the contents, and a guide or the reference beside them. */
export function docsBody(view: DocsView): Html {
  const { current, t } = view;
  const text = current
    ? html`<article class="prose guide" lang="${current.lang}" data-copy="${t('copy')}" data-copied="${t('copied')}">!${current.body}</article>`
    : reference(view);
  return html`<div class="docs">!${contents(view)}<div class="docs-text">!${text}</div></div>`;
}

/** Beside the text on a wide screen, folded above it on a phone. The script unhides the search field. */
function contents({ guides, document, current, t }: DocsView): Html {
  const referencePath = current ? '/docs' : '';
  const sections = sectionIds.map((id) => html`<li><a href="${referencePath}#${id}">${t(id)}</a></li>`);
  const tags = byTag(document).map(
    ({ name, operations }) => html`
<h2>${name}</h2>
<ul>!${operations.map(
      ({ operationId, method: verb, path, summary = operationId }) =>
        html`<li data-words="${verb} ${path} ${operationId}"><a href="${referencePath}#${operationId}"><span>${summary}</span>!${method(verb)}</a></li>`,
    )}</ul>`,
  );
  return html`
<details class="contents" tabindex="0">
  <summary>${t('contents')}</summary>
  <nav aria-label="${t('contents')}">
    <input class="find" type="search" hidden placeholder="${t('find')}" aria-label="${t('find')}">
    <p class="nothing" hidden>${t('nothing')}</p>
    <h2>${t('guides')}</h2>
    <ul>!${guides.map((guide) => guideLinks(guide, guide === current))}</ul>
    <h2>${t('reference')}</h2>
    <ul>!${sections}</ul>
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

/** The whole reference on one page, so that the browser's own search finds everything. */
function reference({ document, guides, t }: DocsView): Html {
  const tags = byTag(document).map(
    ({ name, description, operations }) => html`
<section class="tag" id="tag-${name.toLowerCase().replace(/\W+/g, '-')}">
  <div class="prose" lang="en"><h2>${name}</h2><p>!${inline(description)}</p></div>
  !${operations.map((operation) => operationSection(operation, document, t))}
</section>`,
  );
  return html`
!${heading({ title: t('title'), intro: t('intro'), actions: linkButton(t('download'), '/openapi.json') })}
!${firstSteps(document, t)}
!${guideCards(guides, t)}
!${scopeSection(t)}
!${limitSection(t)}
!${eventSection(t)}
!${errorSection(t)}
!${tags}`;
}

function firstSteps({ servers }: ApiDocument, t: T): Html {
  const issue = `npm run -s namjai -- creator add --username mali
npm run -s namjai -- app add --name "Goal Bot" --redirect-uri https://app.example/callback
npm run -s namjai -- grant add --creator mali --client app_… \\
  --scope "${Object.keys(scopes).join(' ')}"`;
  const call = `export TOKEN=eyJ…
curl "${servers[0]?.url}/v1/me" -H "Authorization: Bearer $TOKEN"`;
  return html`
<section class="prose" id="start">
  !${sectionTitle('start', t)}
  <ol class="steps">
    <li>${t('startDemo')}</li>
    <li>${t('startOwn')}!${codeFigure(html`${t('terminal')}`, html`${issue}`, t)}</li>
    <li>${t('startCall')}!${codeFigure(html`${t('terminal')}`, html`${call}`, t)}</li>
    <li>${t('startPublic')}</li>
  </ol>
  !${guideLink('getting-started', t('startMore'))}
</section>`;
}

const sectionTitle = (id: (typeof sectionIds)[number] | 'guides', t: T): Html =>
  html`<h2><a class="anchor" href="#${id}">${t(id)}</a></h2>`;

const guideLink = (name: string, label: string): Html => html`<p><a href="/docs/${name}">${label}</a></p>`;

const guideCards = (guides: readonly Guide[], t: T): Html => html`
<section id="guides">
  !${sectionTitle('guides', t)}
  <ul class="guides" lang="en">!${guides.map(
    ({ name, title, intro }) =>
      html`<li><a href="/docs/${name}"><strong>${title}</strong><span>${intro}</span></a></li>`,
  )}</ul>
</section>`;

const scopeSection = (t: T): Html => html`
<section class="prose" id="scopes">
  !${sectionTitle('scopes', t)}
  <p>${t('scopesIntro')}</p>
  !${table({
    caption: t('scopes'),
    columns: [{ label: t('scope') }, { label: t('allows') }],
    rows: Object.entries(scopes).map(([name, { meaning }]) => [
      html`<code>${name}</code>`,
      html`<span lang="en">${meaning}</span>`,
    ]),
  })}
</section>`;

const limitSection = (t: T): Html => html`
<section class="prose" id="limits">
  !${sectionTitle('limits', t)}
  <p>${t('limitsIntro')}</p>
  !${table({
    caption: t('limits'),
    columns: [{ label: t('group') }, { label: t('perMinute'), numeric: true }],
    rows: Object.entries(limits).map(([name, { limit }]) => [html`<code>${name}</code>`, html`${limit}`]),
  })}
</section>`;

const eventSection = (t: T): Html => html`
<section class="prose" id="events">
  !${sectionTitle('events', t)}
  <p>${t('eventsIntro')}</p>
  !${table({
    caption: t('events'),
    columns: [{ label: t('type') }, { label: t('when') }, { label: t('data') }, { label: t('goesTo') }],
    rows: describeEventTypes().map(({ type, when, data, goesTo }) => [
      html`<code>${type}</code>`,
      html`<span lang="en">!${inline(when)}</span>`,
      html`<code>${data}</code>`,
      html`<span lang="en">${goesTo}</span>`,
    ]),
  })}
  <h3>${t('closes')}</h3>
  !${table({
    caption: t('closes'),
    columns: [{ label: t('code') }, { label: t('reason') }, { label: t('whatToDo') }],
    rows: Object.values(closeReasons).map(({ code, reason, advice }) => [
      html`${code}`,
      html`<span lang="en">${reason}</span>`,
      html`<span lang="en">${advice}</span>`,
    ]),
  })}
  !${guideLink('events', t('eventsMore'))}
  !${guideLink('webhooks', t('webhooksMore'))}
</section>`;

const errorSection = (t: T): Html => html`
<section class="prose" id="errors">
  !${sectionTitle('errors', t)}
  <p>${t('errorsIntro')}</p>
  !${table({
    caption: t('errors'),
    columns: [{ label: t('status') }, { label: t('code') }, { label: t('whatToDo') }],
    rows: Object.entries(errorTable).map(([code, [status, message]]) => [
      html`${status}`,
      html`<code>${code}</code>`,
      html`<span lang="en">${message}</span>`,
    ]),
  })}
  !${guideLink('errors', t('errorsMore'))}
</section>`;

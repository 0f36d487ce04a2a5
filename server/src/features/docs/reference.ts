import { errorTable } from '../../errors.ts';
import { heading, linkButton, table } from '../../platform/web/blocks.ts';
import { type Html, html } from '../../platform/web/html.ts';
import { eventTypes } from '../events/index.ts';
import { limits, scopes } from '../oauth/index.ts';
import { closeReasons } from '../sockets/index.ts';
import { codeFigure } from './code.ts';
import { type ApiDocument, byTag } from './document.ts';
import type { Guide } from './guides.ts';
import { inline } from './markdown.ts';
import { operationSection } from './operation.ts';
import type { T } from './words.ts';

export interface ReferenceParts {
  readonly document: ApiDocument;
  readonly guides: readonly Guide[];
  readonly t: T;
}

/** The whole reference on one page, so that the browser's own search finds everything. */
export function reference({ document, guides, t }: ReferenceParts): Html {
  const tags = byTag(document).map(
    ({ name, description, operations }) => html`
<section class="tag" id="tag-${name.toLowerCase().replace(/\W+/g, '-')}">
  <div class="prose" lang="en"><h2>${name}</h2><p>!${inline(description)}</p></div>
  !${operations.map((operation) => operationSection(operation, document, t))}
</section>`,
  );
  return html`
!${heading({ title: t('title'), intro: t('intro'), actions: linkButton(t('download'), '/openapi.json') })}
!${firstSteps(document, guides, t)}
!${guideCards(guides, t)}
!${scopeSection(t)}
!${limitSection(t)}
!${eventSection(guides, t)}
!${errorSection(guides, t)}
!${tags}`;
}

function firstSteps({ servers }: ApiDocument, guides: readonly Guide[], t: T): Html {
  const issue = `npm run -s namjai -- creator add --username mali
npm run -s namjai -- app add --name "Goal Bot" --redirect-uri https://app.example/callback
npm run -s namjai -- grant add --creator mali --client app_… \\
  --scope "${Object.keys(scopes).join(' ')}"`;
  const call = `export TOKEN=eyJ…
curl "${servers[0]?.url}/v1/me" -H "Authorization: Bearer $TOKEN"`;
  return html`
<section class="prose" id="start">
  <h2><a class="anchor" href="#start">${t('start')}</a></h2>
  <ol class="steps">
    <li>${t('startDemo')}</li>
    <li>${t('startOwn')}!${codeFigure(html`${t('terminal')}`, html`${issue}`, t)}</li>
    <li>${t('startCall')}!${codeFigure(html`${t('terminal')}`, html`${call}`, t)}</li>
    <li>${t('startPublic')}</li>
  </ol>
  !${guideLink(guides, 'getting-started', t('startMore'))}
</section>`;
}

const guideLink = (guides: readonly Guide[], name: string, label: string): Html =>
  guides.some((guide) => guide.name === name) ? html`<p><a href="/docs/${name}">${label}</a></p>` : '';

const guideCards = (guides: readonly Guide[], t: T): Html => html`
<section id="guides">
  <h2><a class="anchor" href="#guides">${t('guides')}</a></h2>
  <ul class="guides" lang="en">!${guides.map(
    ({ name, title, intro }) =>
      html`<li><a href="/docs/${name}"><strong>${title}</strong><span>${intro}</span></a></li>`,
  )}</ul>
</section>`;

const scopeSection = (t: T): Html => html`
<section class="prose" id="scopes">
  <h2><a class="anchor" href="#scopes">${t('scopes')}</a></h2>
  <p>${t('scopesIntro')}</p>
  !${table({
    caption: t('scopes'),
    columns: [{ label: t('scope') }, { label: t('allows') }],
    rows: Object.entries(scopes).map(([name, meaning]) => [
      html`<code>${name}</code>`,
      html`<span lang="en">${meaning}</span>`,
    ]),
  })}
</section>`;

const limitSection = (t: T): Html => html`
<section class="prose" id="limits">
  <h2><a class="anchor" href="#limits">${t('limits')}</a></h2>
  <p>${t('limitsIntro')}</p>
  !${table({
    caption: t('limits'),
    columns: [{ label: t('group') }, { label: t('perMinute'), numeric: true }],
    rows: Object.entries(limits).map(([name, { limit }]) => [html`<code>${name}</code>`, html`${limit}`]),
  })}
</section>`;

const eventSection = (guides: readonly Guide[], t: T): Html => html`
<section class="prose" id="events">
  <h2><a class="anchor" href="#events">${t('events')}</a></h2>
  <p>${t('eventsIntro')}</p>
  !${table({
    caption: t('events'),
    columns: [{ label: t('type') }, { label: t('when') }, { label: t('data') }, { label: t('goesTo') }],
    rows: Object.entries(eventTypes).map(([type, { when, data, goesTo }]) => [
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
  !${guideLink(guides, 'events', t('eventsMore'))}
  !${guideLink(guides, 'webhooks', t('webhooksMore'))}
</section>`;

const errorSection = (guides: readonly Guide[], t: T): Html => html`
<section class="prose" id="errors">
  <h2><a class="anchor" href="#errors">${t('errors')}</a></h2>
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
  !${guideLink(guides, 'errors', t('errorsMore'))}
</section>`;

import { heading, linkButton } from '../../platform/web/blocks.ts';
import { type Html, html } from '../../platform/web/html.ts';
import { scopes } from '../oauth/index.ts';
import type { Guide } from './guides.ts';
import { inline } from './markdown.ts';
import { type ApiDocument, byTag } from './openapi.ts';
import { methodBadge } from './operation-views.ts';
import { operationPath, slugOf, tagPath } from './paths.ts';
import { codeFigure } from './sample-views.ts';
import type { T } from './words.ts';

/**
 * First steps, the guides, and an index of the reference. The whole reference was on this page once, so the index keeps
 * its ids for old addresses: the script follows the link with the id to the page of today.
 */
export const homePage = (document: ApiDocument, guides: readonly Guide[], t: T): Html => html`
!${heading({ title: t('title'), intro: t('intro'), actions: linkButton(t('download'), '/openapi.json') })}
!${firstSteps(document, t)}
!${guideCards(guides, t)}
!${index(document, t)}`;

const sectionTitle = (id: 'start' | 'guides' | 'reference', t: T): Html =>
  html`<h2><a class="anchor" href="#${id}">${t(id)}</a></h2>`;

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
  <p><a href="/docs/getting-started">${t('startMore')}</a></p>
</section>`;
}

const guideCards = (guides: readonly Guide[], t: T): Html => html`
<section id="guides">
  !${sectionTitle('guides', t)}
  <ul class="guides">!${guides.map(
    ({ name, title: name_, intro, lang }) =>
      html`<li lang="${lang}"><a href="/docs/${name}"><strong>${name_}</strong><span>${intro}</span></a></li>`,
  )}</ul>
</section>`;

function index(document: ApiDocument, t: T): Html {
  const tags = byTag(document).map(
    ({ name, description, operations }) => html`
<section id="tag-${slugOf(name)}" lang="en">
  <h3><a href="${tagPath(name)}">${name}</a></h3>
  <p class="tag-about">!${inline(description)}</p>
  <ul>!${operations.map(
    ({ operationId, summary = operationId, method: verb }) =>
      html`<li id="${operationId}" data-moved><a class="entry" href="${operationPath(operationId, name)}"><span>${summary}</span>!${methodBadge(verb)}</a></li>`,
  )}</ul>
</section>`,
  );
  const moved = [
    ['events', t('eventTypes'), '/docs/reference/event-types'],
    ['scopes', t('scopes'), '/docs/reference/scopes#scopes'],
    ['limits', t('limits'), '/docs/reference/scopes#limits'],
    ['errors', t('errors'), '/docs/reference/errors'],
  ].map(
    ([id, label, href]) =>
      html`<li id="${id}" data-moved><a class="entry" href="${href}"><span>${label}</span></a></li>`,
  );
  return html`
<section id="reference">
  !${sectionTitle('reference', t)}
  <div class="index">!${tags}<section><h3>${t('overview')}</h3><ul>!${moved}</ul></section></div>
</section>`;
}

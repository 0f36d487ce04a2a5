import { errorTable } from '../../errors.ts';
import { heading, table } from '../../platform/web/blocks.ts';
import { type Html, html } from '../../platform/web/html.ts';
import { limits, scopes } from '../oauth/index.ts';
import type { T } from './words.ts';

export const scopesPage = (t: T): Html => html`
!${heading({ title: t('scopesAndLimits') })}
<section class="prose" id="scopes">
  <h2><a class="anchor" href="#scopes">${t('scopes')}</a></h2>
  <p>${t('scopesIntro')}</p>
  !${table({
    caption: t('scopes'),
    columns: [{ label: t('scope') }, { label: t('allows') }],
    rows: Object.entries(scopes).map(([name, { meaning }]) => [
      html`<code>${name}</code>`,
      html`<span lang="en">${meaning}</span>`,
    ]),
  })}
</section>
<section class="prose" id="limits">
  <h2><a class="anchor" href="#limits">${t('limits')}</a></h2>
  <p>${t('limitsIntro')}</p>
  !${table({
    caption: t('limits'),
    columns: [{ label: t('group') }, { label: t('counts') }, { label: t('perMinute'), numeric: true }],
    rows: Object.entries(limits).map(([name, { limit, counts }]) => [
      html`<code>${name}</code>`,
      html`<span lang="en">${counts}</span>`,
      html`${limit}`,
    ]),
  })}
</section>`;

export const errorsPage = (t: T): Html => html`
!${heading({ title: t('errors'), intro: t('errorsIntro') })}
<section class="prose">
  !${table({
    caption: t('errors'),
    columns: [{ label: t('status') }, { label: t('code') }, { label: t('whatToDo') }],
    rows: Object.entries(errorTable).map(([code, [status, message]]) => [
      html`${status}`,
      html`<code id="${code}">${code}</code>`,
      html`<span lang="en">${message}</span>`,
    ]),
  })}
  <p><a href="/docs/errors">${t('errorsMore')}</a></p>
  <p><a href="/docs/oauth#errors">${t('oauthErrors')}</a></p>
</section>`;

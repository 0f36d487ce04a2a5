import { heading, table } from '../../platform/web/blocks.ts';
import { type Html, html } from '../../platform/web/html.ts';
import { type AnyEventType, describeEventTypes } from '../events/index.ts';
import { closeReasons } from '../sockets/index.ts';
import { fieldRows } from './field-views.ts';
import { inline } from './markdown.ts';
import { type ApiDocument, fieldsOf, resolve } from './openapi.ts';
import { eventPath } from './paths.ts';
import { codeFigure, json } from './sample-views.ts';
import type { T } from './words.ts';

type EventRow = ReturnType<typeof describeEventTypes>[number];

export const eventTypesPage = (t: T): Html => html`
!${heading({ title: t('eventTypes'), intro: t('eventTypesIntro') })}
<section class="prose" id="events">
  !${table({
    caption: t('eventTypes'),
    columns: [{ label: t('type') }, { label: t('when') }, { label: t('data') }, { label: t('goesTo') }],
    rows: describeEventTypes().map(({ type, when, data, goesTo }) => [
      html`<a href="${eventPath(type)}"><code>${type}</code></a>`,
      html`<span lang="en">!${inline(when)}</span>`,
      html`<code>${data}</code>`,
      html`<span lang="en">${goesTo}</span>`,
    ]),
  })}
  !${guideLinks(t)}
</section>
<section class="prose" id="closes">
  <h2><a class="anchor" href="#closes">${t('closes')}</a></h2>
  !${table({
    caption: t('closes'),
    columns: [{ label: t('code') }, { label: t('reason') }, { label: t('whatToDo') }],
    rows: Object.values(closeReasons).map(({ code, reason, advice }) => [
      html`${code}`,
      html`<span lang="en">${reason}</span>`,
      html`<span lang="en">${advice}</span>`,
    ]),
  })}
</section>`;

const guideLinks = (t: T): Html => html`
<p><a href="/docs/events">${t('eventsMore')}</a></p>
<p><a href="/docs/webhooks">${t('webhooksMore')}</a></p>`;

/** The command that makes an event of this type happen. */
const triggers: Readonly<Record<string, string>> = {
  'tip.created': 'trigger tip --creator mali --amount 99',
  'alert.test': 'trigger alert --creator mali',
} satisfies Partial<Record<AnyEventType, string>>;

/** One type with its fields on the left, and a whole event on the right. */
export function eventPage({ type, when, goesTo }: EventRow, document: ApiDocument, t: T): Html {
  const schema = resolve({ $ref: componentOf(type, document) }, document);
  const trigger = triggers[type];
  return html`
!${heading({ title: type })}
<article class="operation event">
  <div class="about">
    <p lang="en">!${inline(when)}.</p>
    <ul class="needs"><li>${t('reaches')} <span lang="en">${goesTo}</span></li></ul>
    <h2>${t('eventFields')}</h2>
    !${fieldRows(always(fieldsOf(schema, document)), '', t)}
    <p><a href="/docs/reference/event-types">${t('allEvents')}</a></p>
    !${guideLinks(t)}
  </div>
  <div class="samples">
    !${codeFigure(html`${t('payload')}`, json(schema.examples?.[0]), t)}
    !${trigger ? html`<p>${t('tryEvent')}</p>!${codeFigure(html`${t('tryIt')}`, html`npm run namjai -- ${trigger}`, t)}` : ''}
  </div>
</article>`;
}

/** An event has all of its fields, so that none is marked as required. */
const always = (fields: ReturnType<typeof fieldsOf>) => fields.map((field) => ({ ...field, required: false }));

/** The API document maps the type to its schema. */
const componentOf = (type: string, { components }: ApiDocument): string =>
  components.schemas.WebhookEvent?.discriminator?.mapping[type] ?? '';

import { type Html, html } from '../../platform/web/html.ts';
import { inline } from './markdown.ts';
import type { Field } from './openapi.ts';
import type { T } from './words.ts';

/** On a phone a long path may break before a slash or a dot. */
export const breakable = (path: string): Html => html`!${path.split(/(?=[/.])/).map((part) => html`${part}<wbr>`)}`;

/** The id of a field's row begins with `prefix`. */
export const fieldRows = (fields: readonly Field[], prefix: string, t: T): Html => html`
<dl class="fields">!${fields.map(
  (field) => html`
  <div id="${prefix}${field.path}">
    <dt><code translate="no">!${breakable(field.path)}</code> <span class="type" lang="en">${field.type}</span>!${field.required ? html` <span class="required">${t('required')}</span>` : ''}</dt>
    <dd lang="en">!${facts(field, t)}</dd>
  </div>`,
)}
</dl>`;

function facts({ description, rules, example }: Field, t: T): Html {
  const sentences = [description, ...rules].filter(Boolean).map(sentence);
  const shown = typeof example === 'string' ? example : JSON.stringify(example);
  return html`!${inline(sentences.join('. '))}!${sentences.length > 0 ? '.' : ''}!${example === undefined ? '' : html` <span class="example">${t('example')} <code>${shown}</code></span>`}`;
}

/** Capitalizes the first word, unless it is the name of a field. */
const sentence = (text: string): string =>
  text.replace(/\.$/, '').replace(/^[a-z](?=[a-z]*(\W|$))/, (letter) => letter.toUpperCase());

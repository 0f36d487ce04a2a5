import { type Html, html } from '../../platform/web/html.ts';
import type { Sample } from './samples/index.ts';
import type { T } from './words.ts';

/** A block of code with its title. The script that copies unhides the button. */
export const codeFigure = (title: Html, code: Html, t: T): Html => html`
<figure class="code">
  <figcaption><span>!${title}</span>!${copyButton(t)}</figcaption>
  <pre tabindex="0"><code translate="no">!${code}</code></pre>
</figure>`;

const copyButton = (t: T): Html =>
  html`<button class="copy" type="button" hidden data-copied="${t('copied')}">${t('copy')}</button>`;

/** A request in every language, one below the other. The script makes tabs of them. */
export const sampleFigures = (sample: Sample, title: string, t: T): Html => html`
<div class="sample" data-operation="${sample.operationId}" data-title="${sample.title || title}">!${sample.texts.map(
  ({ language, text }) => html`
<div data-language="${language}"><figure class="code">
  <figcaption><span>${sample.title || title}<span class="language"> · ${language}</span></span>!${copyButton(t)}</figcaption>
  <pre tabindex="0"><code translate="no">${text}</code></pre>
</figure></div>`,
)}
</div>`;

/** JSON with its names and strings marked for the stylesheet to colour. */
export function json(value: unknown): Html {
  const parts = JSON.stringify(value, null, 2).split(/("(?:\\.|[^"\\])*"(?:\s*:)?)/);
  return html`!${parts.map((part, index) => {
    if (index % 2 === 0) return html`${part}`;
    return part.endsWith('"') ? html`<span class="text">${part}</span>` : html`<span class="name">${part}</span>`;
  })}`;
}

import { type Html, html } from '../../platform/web/html.ts';
import type { T } from './words.ts';

/** A block of code with its title; the button shows itself only where scripts run. */
export const codeFigure = (title: Html, code: Html, t: T): Html => html`
<figure class="code">
  <figcaption><span>!${title}</span><button class="copy" type="button" hidden data-copied="${t('copied')}">${t('copy')}</button></figcaption>
  <pre tabindex="0"><code translate="no">!${code}</code></pre>
</figure>`;

/** JSON in colours: names, texts, and everything else. */
export function json(value: unknown): Html {
  const parts = JSON.stringify(value, null, 2).split(/("(?:\\.|[^"\\])*"(?:\s*:)?)/);
  return html`!${parts.map((part, index) => {
    if (index % 2 === 0) return html`${part}`;
    return part.endsWith('"') ? html`<span class="text">${part}</span>` : html`<span class="name">${part}</span>`;
  })}`;
}

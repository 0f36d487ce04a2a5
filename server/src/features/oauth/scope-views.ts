import { type Html, html } from '../../platform/web/html.ts';
import type { Lang } from '../../platform/web/i18n.ts';
import { identity, type Scope, scopes } from './scopes.ts';

/** The permissions of an app, for the creator. `brief` leaves out their meanings. */
export function scopeList(granted: readonly Scope[], lang: Lang, { brief = false } = {}): Html {
  const items = [identity, ...granted.map((scope) => scopes[scope].consent)].map((words) => {
    const [name, meaning] = words[lang];
    return html`<li><strong>${name}</strong>!${brief ? '' : html`<p>${meaning}</p>`}</li>`;
  });
  return html`<ul class="ticks">!${items}</ul>`;
}

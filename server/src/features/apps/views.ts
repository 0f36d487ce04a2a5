import { outsideLink, written } from '../../platform/web/blocks.ts';
import { type Html, html } from '../../platform/web/html.ts';
import type { Lang } from '../../platform/web/i18n.ts';
import type { AppRow } from './repo.ts';
import { words } from './words.ts';

/** What an app's owner shows of it to creators. */
type About = Pick<AppRow, 'description' | 'homepage_url' | 'privacy_url'>;

/** Nothing without a logo. The name stands beside it, so it says nothing to a screen reader. */
export const appLogo = ({ logo_id }: Pick<AppRow, 'logo_id'>): Html =>
  logo_id === null ? '' : html`<img class="app-logo" src="/app-logos/${logo_id}" alt="" width="56" height="56">`;

/** The description, said to be the developer's own words, and where the app's pages are. Nothing without any of it. */
export function appAbout({ description, homepage_url, privacy_url }: About, lang: Lang): Html {
  const t = words(lang);
  const link = (label: string, url: string | null) =>
    url === null ? '' : html`<li>${label} !${outsideLink(url, new URL(url).host)}</li>`;
  const links = html`!${link(t('homepage'), homepage_url)}!${link(t('privacy'), privacy_url)}`;
  const said = description === null ? '' : html`<p class="hint">${t('says')}</p><p>!${written(description)}</p>`;
  if (!links && !said) return '';
  return html`<div class="app-about">!${said ? html`<div class="app-words">!${said}</div>` : ''}!${links ? html`<ul class="app-links">!${links}</ul>` : ''}</div>`;
}

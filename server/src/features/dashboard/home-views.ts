import { linkButton } from '../../platform/web/blocks.ts';
import { type Html, html } from '../../platform/web/html.ts';
import type { Lang } from '../../platform/web/i18n.ts';
import { homeWords } from './home-words.ts';

export interface HomeView {
  readonly lang: Lang;
  readonly signup: 'open' | 'closed';
  /** The address of a picture of an alert, taken from the overlay. */
  readonly picture: string;
}

const promises = ['overlay', 'page', 'apps'] as const;

/** The front page for strangers: what it is, in one screen. */
export function homeView({ lang, signup, picture }: HomeView): Html {
  const t = homeWords(lang);
  const actions =
    signup === 'open'
      ? html`!${linkButton(t('signUp'), '/signup', 'primary')}!${linkButton(t('signIn'), '/login')}`
      : linkButton(t('signIn'), '/login', 'primary');
  return html`
<div class="hero">
  <div>
    <h1>${t('title')}</h1>
    <p>${t('text')}</p>
    <div class="actions">!${actions}</div>
  </div>
  <img src="${picture}" alt="${t('pictureAlt')}" width="1280" height="720">
</div>
<ul class="promises">!${promises.map((each) => html`<li><h2>${t(each)}</h2><p>${t(`${each}Text`)}</p></li>`)}</ul>
<p class="developers">${t('developers')} <a href="/docs">${t('docs')}</a></p>`;
}

import { webAddress, written, writtenName } from '../../platform/web/blocks.ts';
import { displayText } from '../../platform/web/browser/text.ts';
import { type Html, html } from '../../platform/web/html.ts';
import { initialOf } from '../../platform/web/layout.ts';
import { platformName } from './form.ts';
import type { Profile } from './schemas.ts';
import type { PublicPage } from './service.ts';
import type { ProfileWords } from './words.ts';

/** The most line breaks of a bio: this page has room for more than a list. */
const bioBreaks = 10;

/** Without a picture, shows the first letter of the name. */
export function portrait(profile: Profile, alt: string): Html {
  if (profile.avatar_url) return html`<img class="portrait" src="${profile.avatar_url}" alt="${alt}">`;
  return html`<span class="portrait" aria-hidden="true">${initialOf(profile.display_name)}</span>`;
}

/** /@username */
export function publicView({ profile, look }: PublicPage, address: string, t: ProfileWords): Html {
  const channels = profile.tip_channels.filter(({ enabled }) => enabled);
  const links = profile.social_links.map(
    ({ platform, url }) => html`
<li><a href="${url}" rel="noopener nofollow ugc">!${written(platformName(platform))}</a></li>`,
  );
  return html`
<article class="public" data-look="${look}">
  <header>
    !${portrait(profile, profile.display_name)}
    <div><h1>!${writtenName(profile.display_name)}</h1><p class="handle" translate="no">@${profile.username}</p></div>
    !${profile.bio ? html`<p class="bio">!${written(profile.bio, { breaks: bioBreaks })}</p>` : ''}
    !${links.length > 0 ? html`<ul class="public-links" aria-label="${t('links')}">!${links}</ul>` : ''}
  </header>
  <section>
    <h2>${t('takes')}</h2>
    !${channels.length > 0 ? html`<ul class="public-channels">!${channels.map((channel) => channelLine(channel, t))}</ul>` : html`<p>${t('takesNone')}</p>`}
  </section>
  <aside>
    <img src="/@${profile.username}/qr.svg" alt="${t('qrAlt')}" width="144" height="144" loading="lazy">
    <div><h2>${t('share')}</h2><p>!${webAddress(address.replace(/^https?:\/\//, ''))}</p>
    <button class="button plain" type="button" hidden data-copy="page-address" data-copied="${t('copied')}">${t('copyAddress')}</button>
    <input type="hidden" id="page-address" value="${address}"></div>
  </aside>
</article>`;
}

/** A channel with an address is one large link. */
function channelLine({ type, url, note }: Profile['tip_channels'][number], t: ProfileWords): Html {
  const words = note ? html`<span class="note">!${written(note, { breaks: 0 })}</span>` : '';
  if (url)
    return html`
<li><a class="channel" href="${url}" rel="noopener nofollow ugc"><strong>${t(type)}</strong>!${words}<span class="host" translate="no">${new URL(url).host}</span></a></li>`;
  return html`
<li><div class="channel"><strong>${t(type)}</strong>!${words}</div></li>`;
}

/** What chat apps show of a link to the page (Open Graph). */
export function previewTags({ profile }: PublicPage, address: string, t: ProfileWords): Html {
  const description = displayText(profile.bio ?? t('shareText'), { length: 200, breaks: 0 });
  const tags: [property: string, content: string][] = [
    ['og:type', 'profile'],
    ['og:site_name', 'Namjai'],
    ['og:title', displayText(t('shareTitle', { name: profile.display_name }))],
    ['og:description', description],
    ['og:url', address],
    ['og:image', `${address}/card.png`],
    ['og:image:type', 'image/png'],
    ['og:image:width', '1200'],
    ['og:image:height', '630'],
    ['profile:username', profile.username],
  ];
  return html`
<meta name="description" content="${description}">
<meta name="twitter:card" content="summary_large_image">
<link rel="canonical" href="${address}">
!${tags.map(([property, content]) => html`<meta property="${property}" content="${content}">`)}`;
}

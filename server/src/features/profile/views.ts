import { badge, button, card, fold, heading, linkButton, written, writtenName } from '../../platform/web/blocks.ts';
import { buttonForm, checkbox, field, form, textArea } from '../../platform/web/forms.ts';
import { type Html, html } from '../../platform/web/html.ts';
import { initialOf } from '../../platform/web/layout.ts';
import {
  bioLength,
  channelList,
  platformLength,
  platformName,
  platforms,
  type Typed,
  urlLength,
  type Wrong,
} from './form.ts';
import type { Profile } from './schemas.ts';
import type { ProfileWords } from './words.ts';

export interface ProfileView {
  readonly t: ProfileWords;
  readonly csrf: string;
  readonly profile: Profile;
  readonly pageAddress: string;
  readonly typed: Typed;
  readonly wrong: Wrong;
}

export const home = '/dashboard/profile';

export function profileView(o: ProfileView): Html {
  const { t, profile } = o;
  const actions = profile.page_url ? linkButton(t('open'), profile.page_url) : '';
  return html`
!${heading({ title: t('title'), intro: t('intro'), actions })}
!${pictureCard(o)}
!${form({
    action: home,
    csrf: o.csrf,
    body: html`!${aboutCard(o)}!${linksCard(o)}!${channelsCard(o)}!${pageCard(o)}<div class="actions">!${button(t('save'))}</div>`,
  })}`;
}

function pictureCard({ t, csrf, profile, wrong }: ProfileView): Html {
  const upload = html`
!${field({ name: 'avatar', type: 'file', label: t('pictureFile'), hint: t('pictureHint'), error: wrong.avatar, accept: 'image/png,image/jpeg,image/webp' })}
<div class="actions">!${button(t('upload'), { kind: 'plain' })}</div>`;
  const remove = profile.avatar_url
    ? buttonForm({ action: `${home}/avatar/remove`, csrf, label: t('remove'), kind: 'plain', row: true })
    : '';
  return card({
    title: t('picture'),
    body: html`!${portrait(profile, t('pictureAlt'))}!${form({ action: `${home}/avatar`, csrf, multipart: true, body: upload })}!${remove}`,
  });
}

const aboutCard = ({ t, typed, wrong }: ProfileView): Html =>
  card({
    title: t('about'),
    body: html`
!${field({ name: 'display_name', label: t('displayName'), value: typed.displayName, error: wrong.display_name, autocomplete: 'nickname', required: true })}
!${textArea({ name: 'bio', label: t('bio'), hint: t('bioHint'), value: typed.bio, error: wrong.bio, maxlength: bioLength * 2 })}`,
  });

const minOpenLinks = 3;

/** Shows the used lines and folds the others away. An error is always on a used line. */
function linksCard({ t, typed, wrong }: ProfileView): Html {
  const line = ({ platform, url }: Typed['links'][number], i: number) => html`
<div class="columns link-line">
  !${field({ name: `platform_${i}`, label: t('platform', { number: i + 1 }), value: platform, error: wrong[`platform_${i}`], maxlength: platformLength, list: 'platforms' })}
  !${field({ name: `url_${i}`, type: 'url', label: t('url', { number: i + 1 }), value: url, error: wrong[`url_${i}`], maxlength: urlLength })}
</div>`;
  const used = typed.links.findLastIndex(({ platform, url }) => platform !== '' || url !== '') + 1;
  const open = Math.max(minOpenLinks, used);
  const all = typed.links.map(line);
  const rest = all.slice(open);
  return card({
    title: t('links'),
    intro: t('linksText'),
    body: html`
<datalist id="platforms">!${Object.values(platforms).map((name) => html`<option value="${name}"></option>`)}</datalist>
!${all.slice(0, open)}
!${rest.length > 0 ? fold({ summary: t('more'), body: html`!${rest}` }) : ''}`,
  });
}

const channelsCard = ({ t, typed }: ProfileView): Html =>
  card({
    title: t('channels'),
    intro: t('channelsText'),
    body: html`<div class="columns">!${channelList.map((type) =>
      checkbox({ name: `channel_${type}`, label: t(type), checked: typed.channels.includes(type) }),
    )}</div>`,
  });

const pageCard = ({ t, typed, pageAddress }: ProfileView): Html =>
  card({
    title: t('page'),
    body: checkbox({
      name: 'page_public',
      label: t('pageSwitch'),
      hint: t('pageHint', { address: pageAddress }),
      checked: typed.pagePublic,
    }),
  });

/** Without a picture, shows the first letter of the name. */
function portrait(profile: Profile, alt: string): Html {
  if (profile.avatar_url) return html`<img class="portrait" src="${profile.avatar_url}" alt="${alt}">`;
  return html`<span class="portrait" aria-hidden="true">${initialOf(profile.display_name)}</span>`;
}

/** The most line breaks of a bio: this page has room for more than a list. */
const bioBreaks = 10;

/** /@username */
export function publicView(profile: Profile, t: ProfileWords): Html {
  const channels = profile.tip_channels.filter(({ enabled }) => enabled).map(({ type }) => badge(t(type)));
  const links = profile.social_links.map(
    ({ platform, url }) => html`
<li><a href="${url}" rel="noopener nofollow ugc">!${written(platformName(platform))}</a> <span class="hint">${new URL(url).host}</span></li>`,
  );
  return html`
<section class="card public-profile">
  !${portrait(profile, profile.display_name)}
  <div><h1>!${writtenName(profile.display_name)}</h1><p class="hint" translate="no">@${profile.username}</p></div>
  !${profile.bio ? html`<p class="bio">!${written(profile.bio, { breaks: bioBreaks })}</p>` : ''}
  !${links.length > 0 ? html`<ul class="public-links" aria-label="${t('links')}">!${links}</ul>` : ''}
  !${channels.length > 0 ? html`<h2>${t('takes')}</h2><p class="public-channels">!${channels}</p>` : ''}
</section>`;
}

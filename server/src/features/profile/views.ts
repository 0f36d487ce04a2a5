import { button, card, fold, heading, linkButton } from '../../platform/web/blocks.ts';
import { buttonForm, checkbox, field, form, textArea } from '../../platform/web/forms.ts';
import { attributes, type Html, html } from '../../platform/web/html.ts';
import { linkLength } from '../../platform/web/links.ts';
import { bioLength, noteLength, platformLength, platforms, type Typed, type Wrong } from './form.ts';
import { portrait } from './public-views.ts';
import { channelList, type Profile, pageLooks } from './schemas.ts';
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
<div class="columns">
  !${field({ name: `platform_${i}`, label: t('platform', { number: i + 1 }), value: platform, error: wrong[`platform_${i}`], maxlength: platformLength, list: 'platforms' })}
  !${field({ name: `url_${i}`, type: 'url', label: t('url', { number: i + 1 }), value: url, error: wrong[`url_${i}`], maxlength: linkLength })}
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

const channelsCard = ({ t, typed, wrong }: ProfileView): Html =>
  card({
    title: t('channels'),
    intro: t('channelsText'),
    body: html`!${channelList.map(
      (type) => html`
<fieldset class="channel-fields"><legend>${t(type)}</legend>
  !${checkbox({ name: `channel_${type}`, label: t('channelOn'), checked: typed.channels.includes(type) })}
  <div class="columns">
    !${field({ name: `channel_url_${type}`, type: 'url', label: t('channelUrl'), value: typed.details[type].url, error: wrong[`channel_url_${type}`], maxlength: linkLength })}
    !${field({ name: `channel_note_${type}`, label: t('channelNote'), value: typed.details[type].note, error: wrong[`channel_note_${type}`], maxlength: noteLength * 2 })}
  </div>
</fieldset>`,
    )}`,
  });

const pageCard = ({ t, typed, pageAddress }: ProfileView): Html =>
  card({
    title: t('page'),
    body: html`
!${checkbox({
      name: 'page_public',
      label: t('pageSwitch'),
      hint: t('pageHint', { address: pageAddress }),
      checked: typed.pagePublic,
    })}
<fieldset><legend>${t('pageLook')}</legend><div class="look-choices">!${pageLooks.map(
      (look) =>
        html`<label data-look="${look}"><input type="radio"!${attributes({ name: 'look', value: look, checked: look === typed.look })}><span>${t(`look_${look}`)}</span></label>`,
    )}</div></fieldset>`,
  });

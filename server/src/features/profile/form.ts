import type { FastifyRequest } from 'fastify';
import { hasControls } from '../../platform/names.ts';
import { isBlank } from '../../platform/web/browser/text.ts';
import { formText } from '../../platform/web/form-body.ts';
import { toLink } from '../../platform/web/links.ts';
import { AccountError, checkDisplayName } from '../accounts/index.ts';
import { type ChannelType, channelList, type PageLook, pageLooks } from './schemas.ts';
import type { ChannelDetails, ProfileChange, PublicPage } from './service.ts';
import type { ProfileWords } from './words.ts';

const maxLinks = 8;
export const bioLength = 500;
export const platformLength = 30;
export const noteLength = 140;

/** Suggested names, in the spelling of each platform. Other names are stored as typed. */
export const platforms: Readonly<Record<string, string>> = {
  youtube: 'YouTube',
  twitch: 'Twitch',
  tiktok: 'TikTok',
  facebook: 'Facebook',
  instagram: 'Instagram',
  x: 'X',
  discord: 'Discord',
  line: 'LINE',
  website: 'Website',
};
export const platformName = (platform: string): string =>
  Object.hasOwn(platforms, platform) ? (platforms[platform] ?? platform) : platform;

/** The form's fields as typed. `links` always has `maxLinks` entries. */
export interface Typed {
  readonly displayName: string;
  readonly bio: string;
  readonly links: readonly { platform: string; url: string }[];
  readonly channels: readonly ChannelType[];
  readonly details: { readonly [Type in ChannelType]: { readonly url: string; readonly note: string } };
  readonly pagePublic: boolean;
  readonly look: string;
}

/** Error messages by the name of the field. */
export type Wrong = Readonly<Record<string, string>>;

const lines = Array.from({ length: maxLinks }, (_, index) => index);

export const readTyped = (request: FastifyRequest): Typed => ({
  displayName: formText(request, 'display_name'),
  // Forms send a line break as two characters. It counts as one.
  bio: formText(request, 'bio').replaceAll('\r\n', '\n'),
  links: lines.map((i) => ({ platform: formText(request, `platform_${i}`), url: formText(request, `url_${i}`) })),
  channels: channelList.filter((type) => formText(request, `channel_${type}`) !== ''),
  details: forChannels((type) => ({
    url: formText(request, `channel_url_${type}`),
    note: formText(request, `channel_note_${type}`),
  })),
  look: formText(request, 'look'),
  pagePublic: formText(request, 'page_public') !== '',
});

function forChannels<Value>(value: (type: ChannelType) => Value): { [Type in ChannelType]: Value } {
  const entries = channelList.map((type) => [type, value(type)]);
  return Object.fromEntries(entries) as { [Type in ChannelType]: Value };
}

export const toTyped = ({ profile, look }: PublicPage): Typed => ({
  displayName: profile.display_name,
  bio: profile.bio ?? '',
  links: lines.map((i) => {
    const { platform = '', url = '' } = profile.social_links[i] ?? {};
    return { platform: platformName(platform), url };
  }),
  channels: profile.tip_channels.filter(({ enabled }) => enabled).map(({ type }) => type),
  details: forChannels((type) => {
    const { url, note } = profile.tip_channels.find((each) => each.type === type) ?? { url: null, note: null };
    return { url: url ?? '', note: note ?? '' };
  }),
  look,
  pagePublic: profile.page_url !== null,
});

export function parseProfile(typed: Typed, t: ProfileWords, authUrl: string): ProfileChange | { wrong: Wrong } {
  const wrong: Record<string, string> = {};
  const displayName = typed.displayName.trim();
  const problem = nameError(displayName, authUrl);
  if (problem) wrong.display_name = t(problem);
  const bio = typed.bio.trim();
  if ([...bio].length > bioLength || hasControls(bio.replaceAll('\n', ''))) wrong.bio = t('bioError');
  const socialLinks = typed.links.flatMap((link, i) => {
    const [platform, address] = [link.platform.trim(), link.url.trim()];
    if (platform === '' && address === '') return [];
    const url = toLink(address);
    if (!url) wrong[`url_${i}`] = t('urlError');
    if (isBlank(platform) || [...platform].length > platformLength || hasControls(platform))
      wrong[`platform_${i}`] = t('platformError');
    return url ? [{ platform: toPlatform(platform), url }] : [];
  });
  const channelDetails = parseDetails(typed, wrong, t);
  if (Object.keys(wrong).length > 0) return { wrong };
  const { channels, pagePublic } = typed;
  return { displayName, bio, socialLinks, channels, channelDetails, pagePublic, pageLook: toLook(typed.look) };
}

/** A few words and an address for each channel, whether it is on or not. Adds what is wrong. */
function parseDetails({ details }: Typed, wrong: Record<string, string>, t: ProfileWords): ChannelDetails {
  const parsed = channelList.flatMap((type) => {
    const [address, note] = [details[type].url.trim(), details[type].note.trim()];
    if (address === '' && note === '') return [];
    const url = address === '' ? null : toLink(address);
    if (url === undefined) wrong[`channel_url_${type}`] = t('urlError');
    if ([...note].length > noteLength || hasControls(note)) wrong[`channel_note_${type}`] = t('noteError');
    return [[type, { url: url ?? null, note: note === '' ? null : note }]];
  });
  return Object.fromEntries(parsed);
}

/** A look that is not in the list is the plain one. */
const toLook = (text: string): PageLook => pageLooks.find((each) => each === text) ?? 'plain';

function nameError(name: string, authUrl: string): 'displayNameError' | 'displayNameReserved' | undefined {
  try {
    checkDisplayName(name, new URL(authUrl).hostname);
    return undefined;
  } catch (error) {
    if (!(error instanceof AccountError)) throw error;
    return error.code === 'display_name_reserved' ? 'displayNameReserved' : 'displayNameError';
  }
}

const toPlatform = (text: string): string =>
  Object.keys(platforms).find((key) => platformName(key).toLowerCase() === text.toLowerCase()) ?? text;

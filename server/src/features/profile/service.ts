import { toTimestamp } from '../../platform/clock.ts';
import { PictureError, type Pictures } from '../../platform/pictures.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Accounts, CreatorRow } from '../accounts/index.ts';
import type { Access } from '../oauth/index.ts';
import { avatarBytes, avatarInfo, writes } from './repo.ts';
import {
  type ChannelType,
  channelList,
  channelTypes,
  type Me,
  type PageLook,
  type Profile,
  pageLooks,
} from './schemas.ts';

export interface ProfilesParts extends Pick<Platform, 'db' | 'origins' | 'clock' | 'newId'> {
  readonly accounts: Accounts;
  readonly pictures: Pictures;
  readonly authUrl: string;
  readonly timeZone: string;
}

export interface ProfileChange {
  readonly displayName: string;
  readonly bio: string;
  readonly socialLinks: Profile['social_links'];
  /** The channels that are on. */
  readonly channels: readonly ChannelType[];
  readonly channelDetails: ChannelDetails;
  readonly pagePublic: boolean;
  readonly pageLook: PageLook;
}

/** How to tip by a channel, in the creator's own words. Those of a channel that is off are kept. */
export type ChannelDetails = {
  readonly [Type in ChannelType]?: { readonly url: string | null; readonly note: string | null };
};

/** A public page: what the API tells, and what only the page needs. */
export interface PublicPage {
  readonly profile: Profile;
  readonly look: PageLook;
}

export type Profiles = ReturnType<typeof createProfiles>;

/** The longest edge of a picture, in pixels. */
const avatarEdge = 512;

export function createProfiles({ db, origins, clock, newId, accounts, pictures, authUrl, timeZone }: ProfilesParts) {
  const avatarUrl = (id: string | null): string | null => (id === null ? null : `${authUrl}/avatars/${id}`);

  function me({ creatorId, clientId, appName, scopes, creator }: Access): Me {
    return {
      id: creatorId,
      username: creator.username,
      display_name: creator.displayName,
      avatar_url: avatarUrl(creator.avatarId),
      currency: 'THB',
      timezone: timeZone,
      created_at: toTimestamp(creator.createdAt),
      app: { client_id: clientId, name: appName },
      scope: scopes.join(' '),
    };
  }

  // The answer depends only on the access, which is a new object whenever something of it changes.
  const meCache = new WeakMap<Access, string>();

  const toProfile = (creator: CreatorRow): Profile => ({
    id: creator.id,
    username: creator.username,
    display_name: creator.display_name,
    bio: creator.bio || null,
    avatar_url: avatarUrl(creator.avatar_id),
    page_url: creator.page_public ? `${authUrl}/@${creator.username}` : null,
    social_links: JSON.parse(creator.social_links),
    tip_channels: channels(JSON.parse(creator.tip_channels), JSON.parse(creator.channel_details)),
  });

  const toPage = (creator: CreatorRow): PublicPage => ({
    profile: toProfile(creator),
    look: pageLooks.find((each) => each === creator.page_look) ?? 'plain',
  });

  /** Puts an encoded picture in place of one that was uploaded before pictures were encoded anew. */
  async function encodeUploaded(creatorId: string, id: string): Promise<void> {
    const uploaded = await avatarBytes(db, id);
    if (!uploaded) return;
    try {
      const { bytes } = await pictures.encodeAnew(creatorId, uploaded, avatarEdge);
      await db.write(writes.replaceUploaded, creatorId, id, bytes);
    } catch (error) {
      // One that took too long may be done next time.
      if (!(error instanceof PictureError) || error.problem === 'time') throw error;
      await db.write(writes.replaceUploaded, creatorId, id, null);
    }
  }

  const lookups = new Map<string, Promise<PublicPage | undefined>>();

  async function lookUp(username: string): Promise<PublicPage | undefined> {
    const creator = await accounts.findByUsername(username);
    return creator?.page_public && creator.suspended_at === null ? toPage(creator) : undefined;
  }

  async function byId(creatorId: string): Promise<CreatorRow> {
    const creator = await accounts.byId(creatorId);
    if (!creator) throw new Error(`creator ${creatorId} is missing`);
    return creator;
  }

  return {
    /** As JSON, serialized once for each cached access. */
    me(access: Access): string {
      let text = meCache.get(access);
      if (text === undefined) {
        text = JSON.stringify(me(access));
        meCache.set(access, text);
      }
      return text;
    },

    profile: async (creatorId: string): Promise<Profile> => toProfile(await byId(creatorId)),

    /** The page as its creator sees it, switched on or not. */
    page: async (creatorId: string): Promise<PublicPage> => toPage(await byId(creatorId)),

    /**
     * Returns nothing while the public page is switched off or the creator is suspended. Concurrent calls for the same
     * username share one query.
     */
    publicPage(username: string): Promise<PublicPage | undefined> {
      const lookup = lookups.get(username) ?? lookUp(username).finally(() => lookups.delete(username));
      lookups.set(username, lookup);
      return lookup;
    },

    update: (creatorId: string, change: ProfileChange) =>
      accounts.updateProfile(creatorId, {
        display_name: change.displayName,
        bio: change.bio,
        social_links: JSON.stringify(change.socialLinks),
        tip_channels: JSON.stringify(change.channels),
        channel_details: JSON.stringify(change.channelDetails),
        page_public: change.pagePublic ? 1 : 0,
        page_look: change.pageLook,
      }),

    /**
     * An avatar that an older version stored as it was uploaded is encoded anew first, so that nobody gets the metadata of
     * its file. Returns nothing if the creator is suspended.
     */
    async avatar(id: string) {
      const uploaded = await avatarInfo(db, id);
      if (uploaded?.encoded === 0) await encodeUploaded(uploaded.creator_id, id);
      const avatar = uploaded?.encoded === 0 ? await avatarInfo(db, id) : uploaded;
      return avatar && { type: avatar.type, size: avatar.size, read: () => avatarBytes(db, id) };
    },

    /** `null` removes the avatar. Rejects with `PictureError` or `QueueFull`. */
    async setAvatar(creatorId: string, uploaded: Uint8Array | null): Promise<void> {
      const picture = uploaded && (await pictures.encodeAnew(creatorId, uploaded, avatarEdge));
      await db.write(
        writes.setAvatar,
        origins.current(),
        creatorId,
        picture && { ...picture, id: newId('avt'), created_at: clock() },
      );
    },
  };
}

/** All channels in order. The database stores the enabled ones. */
function channels(enabled: readonly ChannelType[], details: ChannelDetails): Profile['tip_channels'] {
  return channelList.map((type) => ({
    type,
    name: channelTypes[type],
    enabled: enabled.includes(type),
    url: details[type]?.url ?? null,
    note: details[type]?.note ?? null,
  }));
}

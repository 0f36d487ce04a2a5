import { toTimestamp } from '../../platform/clock.ts';
import { type Picture, PictureError, type Pictures } from '../../platform/pictures.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Accounts, CreatorRow } from '../accounts/index.ts';
import type { Access } from '../oauth/index.ts';
import { avatarById, writes } from './repo.ts';
import { type ChannelType, channelTypes, type Me, type Profile } from './schemas.ts';

export interface ProfilesParts extends Pick<Platform, 'db' | 'clock' | 'newId'> {
  readonly accounts: Accounts;
  readonly pictures: Pictures;
  readonly authUrl: string;
  readonly timeZone: string;
}

export interface ProfileChange {
  readonly displayName: string;
  readonly bio: string;
  readonly socialLinks: Profile['social_links'];
  readonly channels: readonly ChannelType[];
  readonly pagePublic: boolean;
}

export type Profiles = ReturnType<typeof createProfiles>;

/** The longest edge of a picture, in pixels. */
const avatarEdge = 512;

export function createProfiles({ db, clock, newId, accounts, pictures, authUrl, timeZone }: ProfilesParts) {
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
    tip_channels: channels(JSON.parse(creator.tip_channels)),
  });

  const lookups = new Map<string, Promise<Profile | undefined>>();

  async function lookUp(username: string): Promise<Profile | undefined> {
    const creator = await accounts.findByUsername(username);
    return creator?.page_public && creator.suspended_at === null ? toProfile(creator) : undefined;
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

    async profile(creatorId: string): Promise<Profile> {
      const creator = await accounts.byId(creatorId);
      if (!creator) throw new Error(`creator ${creatorId} is missing`);
      return toProfile(creator);
    },

    /**
     * Returns nothing while the public page is switched off or the creator is suspended. Concurrent calls for the same
     * username share one query.
     */
    publicProfile(username: string): Promise<Profile | undefined> {
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
        page_public: change.pagePublic ? 1 : 0,
      }),

    /** One from before pictures were encoded anew is so now: what it carries besides its pixels is shown to nobody. */
    async avatar(id: string): Promise<Picture | undefined> {
      const avatar = await avatarById(db, id);
      if (!avatar || avatar.encoded === 1) return avatar;
      try {
        const picture = await pictures.encodeAnew(avatar.creator_id, avatar.bytes, avatarEdge);
        await db.write(writes.replaceUploaded, avatar.creator_id, id, picture.bytes);
        return picture;
      } catch (error) {
        if (!(error instanceof PictureError)) throw error;
        await db.write(writes.replaceUploaded, avatar.creator_id, id, null);
        return undefined;
      }
    },

    /** `null` removes the avatar. Rejects with `PictureError` or `QueueFull`. */
    async setAvatar(creatorId: string, uploaded: Uint8Array | null): Promise<void> {
      const picture = uploaded && (await pictures.encodeAnew(creatorId, uploaded, avatarEdge));
      await db.write(writes.setAvatar, creatorId, picture && { ...picture, id: newId('avt'), created_at: clock() });
    },
  };
}

/** All channels in order. The database stores the enabled ones. */
function channels(enabled: readonly ChannelType[]): Profile['tip_channels'] {
  return Object.entries(channelTypes).map(([type, name]) => ({
    type: type as ChannelType,
    name,
    enabled: enabled.some((on) => on === type),
  }));
}

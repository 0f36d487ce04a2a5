import { toTimestamp } from '../../platform/clock.ts';
import type { Platform } from '../../platform/platform.ts';
import type { Accounts, CreatorRow } from '../accounts/index.ts';
import type { Access } from '../oauth/index.ts';
import { type AvatarType, avatarById, writes } from './repo.ts';
import { type ChannelType, channelTypes, type Me, type Profile } from './schemas.ts';

export interface ProfilesParts extends Pick<Platform, 'db' | 'clock' | 'newId'> {
  readonly accounts: Accounts;
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

export function createProfiles({ db, clock, newId, accounts, authUrl, timeZone }: ProfilesParts) {
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

    /** Returns nothing while the public page is switched off or the creator is suspended. */
    async publicProfile(username: string): Promise<Profile | undefined> {
      const creator = await accounts.findByUsername(username);
      return creator?.page_public && creator.suspended_at === null ? toProfile(creator) : undefined;
    },

    update: (creatorId: string, change: ProfileChange) =>
      accounts.updateProfile(creatorId, {
        display_name: change.displayName,
        bio: change.bio,
        social_links: JSON.stringify(change.socialLinks),
        tip_channels: JSON.stringify(change.channels),
        page_public: change.pagePublic ? 1 : 0,
      }),

    avatar: (id: string) => avatarById(db, id),

    /** `null` removes the avatar. */
    setAvatar: (creatorId: string, picture: { type: AvatarType; bytes: Uint8Array } | null): Promise<void> =>
      db.write(writes.setAvatar, creatorId, picture && { ...picture, id: newId('avt'), created_at: clock() }),
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

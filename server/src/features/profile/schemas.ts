import type { Static } from 'typebox';
import { nullable, Timestamp } from '../../platform/http/schema.ts';
import { Type } from '../../platform/http/type.ts';

export const channelTypes = {
  promptpay: 'PromptPay',
  truemoney: 'TrueMoney Wallet',
  bank_transfer: 'Bank transfer',
  card: 'Card',
  shopeepay: 'ShopeePay',
  line_pay: 'LINE Pay',
} as const;

export type ChannelType = keyof typeof channelTypes;
export const channelList = Object.keys(channelTypes) as ChannelType[];

/** Looks of the public page; profile.css draws them. */
export const pageLooks = ['plain', 'night', 'market', 'garden'] as const;
export type PageLook = (typeof pageLooks)[number];

const avatarUrl = nullable(Type.String({ format: 'uri', description: 'An address of this server, or null' }));

export const Me = Type.Object(
  {
    id: Type.String({ examples: ['crt_01kaxk2t5v7f9sd3n8q6w4y0zr'] }),
    username: Type.String(),
    display_name: Type.String(),
    avatar_url: avatarUrl,
    currency: Type.Literal('THB'),
    timezone: Type.String({ description: 'Decides where a month and a date-only bound begin' }),
    created_at: Timestamp,
    app: Type.Object(
      { client_id: Type.String(), name: Type.String() },
      { description: 'The app that this token was issued to' },
    ),
    scope: Type.String({ description: 'What this token may do, space-separated' }),
  },
  { title: 'Me', description: 'The creator that the token represents' },
);

export const Profile = Type.Object(
  {
    id: Type.String(),
    username: Type.String(),
    display_name: Type.String(),
    bio: nullable(Type.String()),
    avatar_url: avatarUrl,
    page_url: nullable(Type.String({ format: 'uri', description: 'The public page; null while it is switched off' })),
    social_links: Type.Array(
      Type.Object({ platform: Type.String(), url: Type.String({ format: 'uri', maxLength: 2048 }) }),
    ),
    tip_channels: Type.Array(
      Type.Object({
        type: Type.Unsafe<ChannelType>({ type: 'string', enum: Object.keys(channelTypes) }),
        name: Type.String(),
        enabled: Type.Boolean(),
        url: nullable(
          Type.String({ format: 'uri', maxLength: 2048, description: 'The creator’s own address for tipping there' }),
        ),
        note: nullable(
          Type.String({ description: 'The creator’s words on how to tip there, at most 140 code points' }),
        ),
      }),
      { description: 'Always all six, in this order' },
    ),
  },
  { title: 'Profile', description: 'The creator’s public profile' },
);

export type Me = Static<typeof Me>;
export type Profile = Static<typeof Profile>;

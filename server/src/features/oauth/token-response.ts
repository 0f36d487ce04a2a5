import type { Static } from 'typebox';
import { Type } from '../../platform/http/type.ts';

export const TokenResponse = Type.Object(
  {
    access_token: Type.String({ description: 'JWT; send it as `Authorization: Bearer …`' }),
    refresh_token: Type.String({ description: 'Replaces the one before, which must no longer be used' }),
    token_type: Type.Literal('Bearer'),
    expires_in: Type.Integer({ description: 'Life of the access token in seconds', examples: [3600] }),
    scope: Type.String({ description: 'Granted scopes, separated by single spaces' }),
  },
  { title: 'TokenResponse' },
);

export type TokenResponse = Static<typeof TokenResponse>;

export const toTokenResponse = (
  access: { readonly token: string; readonly expiresIn: number },
  refreshToken: string,
  scope: string,
): TokenResponse => ({
  access_token: access.token,
  refresh_token: refreshToken,
  token_type: 'Bearer',
  expires_in: access.expiresIn,
  scope,
});

import type { TokenResponse } from './schemas.ts';
import type { NewTokenSubject } from './token-draft.ts';
import type { Tokens } from './tokens.ts';

interface NewTokens {
  readonly accessToken: string;
  readonly expiresIn: number;
  readonly refreshToken: string;
  readonly scope: string;
}

/** The token endpoint's success, and what `grant add` prints. */
export const toTokenResponse = ({ accessToken, expiresIn, refreshToken, scope }: NewTokens): TokenResponse => ({
  access_token: accessToken,
  refresh_token: refreshToken,
  token_type: 'Bearer',
  expires_in: expiresIn,
  scope,
});

/** With an access token that is signed here. */
export async function tokenResponse(
  tokens: Tokens,
  subject: NewTokenSubject,
  refreshToken: string,
): Promise<TokenResponse> {
  const { token: accessToken, expiresIn } = await tokens.issue('access', subject);
  return toTokenResponse({ accessToken, expiresIn, refreshToken, scope: subject.scope });
}

import type { TokenResponse } from './schemas.ts';
import type { NewTokenSubject, Tokens } from './tokens.ts';

/** The token endpoint's success, and what `grant add` prints. */
export async function tokenResponse(
  tokens: Tokens,
  subject: NewTokenSubject,
  refreshToken: string,
): Promise<TokenResponse> {
  const access = await tokens.issue('access', subject);
  return {
    access_token: access.token,
    refresh_token: refreshToken,
    token_type: 'Bearer',
    expires_in: access.expiresIn,
    scope: subject.scope,
  };
}

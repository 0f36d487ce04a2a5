import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/database.ts';
import type { AccessLookup } from './access.ts';
import { required } from './client.ts';
import { createExchange, type ExchangeParts } from './exchange.ts';
import type { Keys } from './keys.ts';
import { OAuthError } from './oauth-error.ts';
import { createRefresh, type RefreshParts } from './refresh.ts';
import { refreshTokenByHash } from './refresh-repo.ts';
import { refreshKey } from './refresh-tokens.ts';
import { chooseScopes } from './rotate.ts';
import type { Introspection, TokenRequest, TokenResponse } from './schemas.ts';
import { formatScopes } from './scopes.ts';
import { tokenResponse } from './token-response.ts';
import type { Tokens } from './tokens.ts';

export interface TokenEndpointParts extends ExchangeParts, RefreshParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly keys: Keys;
  readonly tokens: Tokens;
  readonly access: AccessLookup;
  readonly issuer: string;
  readonly audience: string;
}

export type TokenEndpoint = ReturnType<typeof createTokenEndpoint>;

/** RFC 7636, section 4.1 */
const verifierForm = /^[A-Za-z0-9._~-]{43,128}$/;

/** What an app that has shown who it is can do with codes and tokens. */
export function createTokenEndpoint(parts: TokenEndpointParts) {
  const { db, clock, keys, tokens, access, grants, issuer, audience } = parts;
  const exchange = createExchange(parts);
  const refresh = createRefresh(parts);

  const introspectAccess = async (clientId: string, token: string): Promise<Introspection | undefined> => {
    const claims = await tokens.verify('access', token);
    if (typeof claims === 'string' || claims.clientId !== clientId) return undefined;
    const now = await access(claims);
    return (
      now && {
        active: true,
        scope: formatScopes(now.scopes),
        client_id: clientId,
        username: now.creator.username,
        token_type: 'Bearer',
        exp: claims.expiresAt / 1000,
        iat: claims.issuedAt / 1000,
        sub: claims.creatorId,
        aud: audience,
        iss: issuer,
      }
    );
  };

  const introspectRefresh = async (clientId: string, token: string): Promise<Introspection | undefined> => {
    const row = await refreshTokenByHash(db, refreshKey(token));
    if (!row || row.client_id !== clientId || row.expires_at <= clock()) return undefined;
    const over = [row.used_at, row.family_ended_at, row.grant_ended_at, row.creator_suspended_at];
    if (over.some((at) => at !== null)) return undefined;
    return {
      active: true,
      scope: formatScopes(chooseScopes(row) ?? []),
      client_id: clientId,
      username: row.username,
      exp: Math.floor(row.expires_at / 1000),
      iat: Math.floor(row.created_at / 1000),
      sub: row.creator_id,
      iss: issuer,
    };
  };

  return {
    /** Says what is missing of a request before anybody is asked who they are. */
    read(body: TokenRequest): (clientId: string) => Promise<TokenResponse> {
      return readGrant(body);
    },

    /** RFC 7009: any token of the app ends its whole grant, also one that was rotated or has expired. */
    async revoke(clientId: string, token: string): Promise<void> {
      const claims = await tokens.identify(token);
      if (claims?.clientId === clientId) await grants.revokeById(claims.creatorId, claims.grantId, 'app');
      const row = await refreshTokenByHash(db, refreshKey(token));
      if (row?.client_id === clientId) await grants.revokeById(row.creator_id, row.grant_id, 'app');
    },

    /** RFC 7662: what a token of the app is worth right now. */
    async introspect(clientId: string, token: string): Promise<Introspection> {
      const found = (await introspectAccess(clientId, token)) ?? (await introspectRefresh(clientId, token));
      return found ?? { active: false };
    },
  };

  function readGrant(body: TokenRequest): (clientId: string) => Promise<TokenResponse> {
    switch (body.grant_type) {
      case 'authorization_code': {
        const request = {
          code: required(body, 'code'),
          redirectUri: required(body, 'redirect_uri'),
          verifier: readVerifier(body),
        };
        return async (clientId: string) => {
          // A signing key that cannot be had is found out before anything is used up.
          await keys.signing();
          const { subject, refreshToken } = await exchange(clientId, request);
          return tokenResponse(tokens, subject, refreshToken);
        };
      }
      case 'refresh_token': {
        const request = { refreshToken: required(body, 'refresh_token'), scope: body.scope || undefined };
        return (clientId: string) => refresh(clientId, request);
      }
      default:
        required(body, 'grant_type');
        throw new OAuthError('unsupported_grant_type');
    }
  }
}

function readVerifier({ code_verifier }: TokenRequest): string | undefined {
  if (!code_verifier) return undefined;
  if (!verifierForm.test(code_verifier))
    throw new OAuthError('invalid_request', 'code_verifier must have 43 to 128 characters of A-Z a-z 0-9 - . _ ~');
  return code_verifier;
}

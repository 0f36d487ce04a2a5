import type { AccessLookup } from '../grants/access.ts';
import { refreshKey } from '../grants/refresh-tokens.ts';
import { formatScopes } from '../scopes.ts';
import type { TokenResponse } from '../token-response.ts';
import { authorizationCode } from './authorization-code.ts';
import { required } from './client.ts';
import { deviceCode } from './device-code.ts';
import { OAuthError } from './errors.ts';
import type { Client, GrantType, TokenParts } from './grant-type.ts';
import { createRefreshLimit } from './refresh-limit.ts';
import { grantedScopes, refreshToken } from './refresh-token.ts';
import { isRevocable, refreshTokenByKey } from './repo.ts';
import type { Introspection } from './schemas.ts';

export interface TokenEndpointParts extends Omit<TokenParts, 'refreshLimit'> {
  readonly accessTokenSeconds: number;
  readonly access: AccessLookup;
  readonly issuer: string;
  readonly audience: string;
}

export type TokenEndpoint = ReturnType<typeof createTokenEndpoint>;

/** By `grant_type`. The API document and the server metadata are derived from this table. */
export const grantTypes: Readonly<Record<string, GrantType>> = {
  authorization_code: authorizationCode,
  refresh_token: refreshToken,
  'urn:ietf:params:oauth:grant-type:device_code': deviceCode,
};

/** The operations of an authenticated app on codes and tokens. */
export function createTokenEndpoint(given: TokenEndpointParts) {
  const parts = { ...given, refreshLimit: createRefreshLimit(given.limiter, given.accessTokenSeconds) };
  const { db, clock, tokens, access, grants, issuer, audience } = parts;

  const introspectAccess = async (clientId: string, token: string): Promise<Introspection | undefined> => {
    const claims = await tokens.verify('access', token);
    if (typeof claims === 'string' || claims.clientId !== clientId) return undefined;
    const current = await access(claims);
    if (current?.paused) return undefined;
    return (
      current && {
        active: true,
        scope: formatScopes(current.scopes),
        client_id: clientId,
        username: current.creator.username,
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
    const row = await refreshTokenByKey(db, refreshKey(token));
    if (!row || row.client_id !== clientId || row.expires_at <= clock()) return undefined;
    const endedAt = [
      row.used_at,
      row.family_ended_at,
      row.grant_ended_at,
      row.grant_paused_at,
      row.creator_suspended_at,
    ];
    if (endedAt.some((at) => at !== null)) return undefined;
    return {
      active: true,
      scope: formatScopes(grantedScopes(row)),
      client_id: clientId,
      username: row.username,
      exp: Math.floor(row.expires_at / 1000),
      iat: Math.floor(row.created_at / 1000),
      sub: row.creator_id,
      iss: issuer,
    };
  };

  return {
    /** Reads the request before the client is authenticated. The returned function issues tokens to the client. */
    read(...[body, idempotencyKey]: Parameters<GrantType['read']>): (client: Client) => Promise<TokenResponse> {
      const name = required(body, 'grant_type');
      const grantType = Object.hasOwn(grantTypes, name) ? grantTypes[name] : undefined;
      if (!grantType) throw new OAuthError('unsupported_grant_type');
      const issue = grantType.read(body, idempotencyKey);
      return (client) => issue(parts, client);
    },

    /**
     * RFC 7009: any token of the app ends the whole grant, also a used or expired one; of a public app, its family.
     * Nothing limits how often a dead token is revoked, so that costs a read only.
     */
    async revoke(client: Client, token: string): Promise<void> {
      const end = async (creatorId: string, grantId: string, familyId: string) => {
        if (!(await isRevocable(db, creatorId, grantId, client.public === 1 ? familyId : null))) return;
        if (client.public === 1) await grants.revokeFamily(creatorId, familyId, 'app');
        else await grants.revokeById(creatorId, grantId, 'app');
      };
      const claims = await tokens.identify(token);
      if (claims?.clientId === client.id) await end(claims.creatorId, claims.grantId, claims.familyId);
      const row = await refreshTokenByKey(db, refreshKey(token));
      if (row?.client_id === client.id) await end(row.creator_id, row.grant_id, row.family_id);
    },

    /** RFC 7662 */
    async introspect(clientId: string, token: string): Promise<Introspection> {
      const found = (await introspectAccess(clientId, token)) ?? (await introspectRefresh(clientId, token));
      return found ?? { active: false };
    },
  };
}

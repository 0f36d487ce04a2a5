import { newRefreshToken, refreshExpiry, refreshKey } from '../grants/refresh-tokens.ts';
import { formatScopes, intersectScopes, parseScopes, type Scope } from '../scopes.ts';
import { required } from './client.ts';
import { OAuthError } from './errors.ts';
import { checkCreatorActive, checkUnused, defineGrantType, invalidGrant } from './grant-type.ts';
import { type RefreshTokenRow, refreshTokenByKey, writes } from './repo.ts';
import { exampleCredentials, optionalText } from './schemas.ts';

interface Refresh {
  readonly key: string;
  /** Fewer scopes for this access token; all granted scopes if absent. */
  readonly scope: string | undefined;
}

/**
 * The refresh_token grant (RFC 6749, section 6), with rotation (RFC 9700, section 4.14).
 * A second use ends the family, with one exception: within the race window, and while its successor is unused, it counts
 * as a concurrent request.
 */
export const refreshToken = defineGrantType({
  credential: 'refresh token',
  fields: {
    refresh_token: optionalText('With `refresh_token`: the newest refresh token'),
    scope: optionalText('With `refresh_token`: fewer scopes for this one access token', ['tips.read']),
  },
  example: { summary: 'Refresh', value: { ...exampleCredentials, refresh_token: 'njr_…' } },
  errors: ['invalid_scope'],
  read: (body): Refresh => ({ key: refreshKey(required(body, 'refresh_token')), scope: body.scope || undefined }),
  load: (db, { key }) => refreshTokenByKey(db, key),
  checks: [checkNotRevoked, checkUnused, checkNotExpired, checkCreatorActive, checkScope],
  consume({ db, raceMs, refreshIdleMs }, token, { key, scope }, now) {
    const { creator_id: creatorId, family_id: familyId, grant_id: grantId } = token;
    const next = newRefreshToken(now);
    const nextExpiresAt = refreshExpiry(now, refreshIdleMs, token.family_expires_at);
    const rotation = { key, creatorId, familyId, nextKey: next.key, nextExpiresAt, now, raceMs };
    return {
      consumption: db.write(writes.rotateRefreshToken, rotation),
      grantId,
      familyId,
      scope: formatScopes(scope === undefined ? grantedScopes(token) : parseScopes(scope).scopes),
      refreshToken: next.token,
    };
  },
});

function checkNotRevoked({ grant_ended_at, family_ended_at }: RefreshTokenRow): undefined {
  if (grant_ended_at !== null || family_ended_at !== null) throw invalidGrant('The refresh token has been revoked.');
}

function checkNotExpired({ expires_at }: RefreshTokenRow, _: Refresh, now: number): undefined {
  if (expires_at <= now) throw invalidGrant('The refresh token has expired.');
}

function checkScope(token: RefreshTokenRow, { scope }: Refresh): undefined {
  if (scope === undefined) return;
  const { scopes, unknown } = parseScopes(scope);
  const granted = grantedScopes(token);
  if (unknown.length > 0 || !scopes.every((name) => granted.includes(name))) throw new OAuthError('invalid_scope');
}

/** The scopes of the family that the grant still has. */
export function grantedScopes({ family_scope, grant_scope }: RefreshTokenRow): Scope[] {
  return intersectScopes(parseScopes(family_scope).scopes, parseScopes(grant_scope).scopes);
}

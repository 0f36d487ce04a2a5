import { type KeyObject, randomUUID } from 'node:crypto';
import type { Clock } from '../../../platform/clock.ts';
import { knownScopes, type Scope } from '../scopes.ts';
import { claimsOf, encode, openJwt, signatureLength, signJwt } from './jwt.ts';
import type { Keys } from './service.ts';

/**
 * Access tokens (RFC 9068) and socket tokens: JWTs signed with ES256 that name a grant and a family.
 * Verifying a token costs hundreds of microseconds, so verified tokens are cached until they expire. What a token may do
 * is checked on every request (grants/access.ts).
 */
export interface TokenClaims {
  readonly creatorId: string;
  readonly clientId: string;
  readonly grantId: string;
  readonly familyId: string;
  readonly scopes: readonly Scope[];
  readonly issuedAt: number;
  readonly expiresAt: number;
}

export type TokenSubject = Omit<TokenClaims, 'issuedAt' | 'expiresAt'>;

export type NewToken = Omit<TokenSubject, 'scopes'> & { readonly scope: string };

/** What a token is signed with. `structuredClone` can copy it, so that the writing thread can sign. */
export interface Signing {
  readonly privateKey: KeyObject;
  readonly header: string;
  readonly issuer: string;
  readonly audience: string;
  readonly seconds: number;
}

export interface SignedToken {
  readonly token: string;
  readonly expiresIn: number;
  readonly expiresAt: number;
}

export type Verified = TokenClaims | 'invalid' | 'expired';
export type TokenKind = 'access' | 'socket';

const types = { access: 'at+jwt', socket: 'socket+jwt' } as const;
export const socketSeconds = 600 as const;
const maxTokenLength = 4096;
const maxCached = 100_000;

const headerOf = (kind: TokenKind, kid: string): string =>
  encode(JSON.stringify({ alg: 'ES256', typ: types[kind], kid }));

interface CachedToken {
  readonly token: string;
  readonly claims: TokenClaims;
}

export interface TokensParts {
  readonly keys: Keys;
  readonly clock: Clock;
  readonly issuer: string;
  readonly baseUrl: string;
  readonly accessTokenSeconds: number;
}

export type Tokens = ReturnType<typeof createTokens>;

export function createTokens({ keys, clock, issuer, baseUrl, accessTokenSeconds }: TokensParts) {
  const lives = { access: accessTokenSeconds, socket: socketSeconds };
  const audiences = { access: baseUrl, socket: `${baseUrl}/v1/socket` };
  // The same object for each token: one message to the writing thread carries it once.
  const signings: Partial<Record<TokenKind, Signing>> = {};
  // By signature: to hash a whole token takes as long as all other checks together.
  const cache = { access: new Map<string, CachedToken>(), socket: new Map<string, CachedToken>() };

  /** Loads the key, so that a key that cannot be loaded fails before a code or a refresh token is consumed. */
  async function signing(kind: TokenKind): Promise<Signing> {
    const { kid, privateKey } = await keys.signing();
    const known = signings[kind];
    if (known?.privateKey === privateKey) return known;
    const loaded = {
      privateKey,
      header: headerOf(kind, kid),
      issuer,
      audience: audiences[kind],
      seconds: lives[kind],
    };
    signings[kind] = loaded;
    return loaded;
  }

  /** The claims of a token that we signed, also of an expired one; nothing for any other text. */
  async function open(kind: TokenKind, token: string): Promise<TokenClaims | undefined> {
    if (token.length > maxTokenLength) return undefined;
    for (const [kid, key] of await keys.verifying()) {
      const claims = openJwt(token, headerOf(kind, kid), key);
      if (claims) return claims.iss === issuer && claims.aud === audiences[kind] ? toClaims(claims) : undefined;
    }
    return undefined;
  }

  async function verifySignature(kind: TokenKind, token: string): Promise<Verified> {
    const claims = await open(kind, token);
    if (!claims) return 'invalid';
    return claims.expiresAt > clock() ? claims : 'expired';
  }

  return {
    signing,
    issue: async (kind: TokenKind, token: NewToken): Promise<SignedToken> =>
      signToken(await signing(kind), token, clock()),

    /** Synchronous for a cached token. */
    verify(kind: TokenKind, token: string): Verified | Promise<Verified> {
      const signature = token.slice(-signatureLength);
      const cached = cache[kind].get(signature);
      if (cached?.token === token) return cached.claims.expiresAt > clock() ? cached.claims : 'expired';
      return verifySignature(kind, token).then((verified) => {
        if (typeof verified === 'object') {
          if (cache[kind].size >= maxCached) cache[kind].clear();
          cache[kind].set(signature, { token, claims: verified });
        }
        return verified;
      });
    },

    /** App and creator of a token that was verified to be ours, as an expired one is. */
    partiesOf(token: string): { clientId: string; creatorId: string } {
      const { client_id, sub } = claimsOf(token);
      return { clientId: String(client_id), creatorId: String(sub) };
    },

    /** The claims of an access token, also of an expired one; nothing for a token that we did not sign. */
    identify: (token: string): Promise<TokenClaims | undefined> => open('access', token),

    /** Evicts expired tokens. */
    sweep(): void {
      for (const tokens of Object.values(cache))
        for (const [signature, { claims }] of tokens) if (claims.expiresAt <= clock()) tokens.delete(signature);
    },
  };
}

export function signToken(
  { privateKey, header, issuer, audience, seconds }: Signing,
  { creatorId, clientId, grantId, familyId, scope }: NewToken,
  now: number,
): SignedToken {
  const issuedAt = Math.floor(now / 1000);
  const expiresAt = issuedAt + seconds;
  const claims = JSON.stringify({
    sub: creatorId,
    client_id: clientId,
    scope,
    grant_id: grantId,
    family_id: familyId,
    iss: issuer,
    aud: audience,
    jti: randomUUID(),
    iat: issuedAt,
    exp: expiresAt,
  });
  return { token: signJwt(header, claims, privateKey), expiresIn: seconds, expiresAt: expiresAt * 1000 };
}

/** Nothing if one of them is missing or of another type, or if there is a time before which it does not hold. */
function toClaims({ sub, client_id, grant_id, family_id, scope, jti, iat, exp, nbf }: Record<string, unknown>) {
  const texts = [sub, client_id, grant_id, family_id, scope, jti];
  const times = [iat, exp];
  if (!texts.every((text) => typeof text === 'string') || !times.every(Number.isFinite) || nbf !== undefined)
    return undefined;
  return {
    creatorId: String(sub),
    clientId: String(client_id),
    grantId: String(grant_id),
    familyId: String(family_id),
    scopes: knownScopes(String(scope)),
    issuedAt: Number(iat) * 1000,
    expiresAt: Number(exp) * 1000,
  };
}

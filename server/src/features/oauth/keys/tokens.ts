import { randomUUID } from 'node:crypto';
import { errors, type JWTPayload, jwtVerify } from 'jose';
import type { Clock } from '../../../platform/clock.ts';
import { parseScopes, type Scope } from '../scopes.ts';
import type { Keys } from './service.ts';
import { signJwt } from './sign-jwt.ts';

/**
 * Access tokens (RFC 9068) and socket tokens: JWTs signed with ES256 that name a grant and a family.
 * Verifying one costs hundreds of microseconds, so a verified token is remembered until it ends. What it may do
 * is another question, asked of the database on every request (grants/access.ts).
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

/** What a new token says: its scopes as text. */
export type NewToken = Omit<TokenSubject, 'scopes'> & { readonly scope: string };

export interface SignedToken {
  readonly token: string;
  readonly expiresIn: number;
  readonly expiresAt: number;
}

export type Verified = TokenClaims | 'invalid' | 'expired';
export type TokenKind = 'access' | 'socket';

const types = { access: 'at+jwt', socket: 'socket+jwt' } as const;
const socketSeconds = 600;
const longestToken = 4096;
const remembered = 100_000;
/** ES256: 64 bytes in base64url. */
const signatureLength = 86;

interface Known {
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
  // By the signature, the last part: to hash a whole token takes as long as all other checks together.
  const known = { access: new Map<string, Known>(), socket: new Map<string, Known>() };

  /**
   * Loads the key and answers what signs with it: a key that cannot be loaded is found out before a code or a refresh
   * token is used up.
   */
  async function signer(kind: TokenKind): Promise<(token: NewToken) => SignedToken> {
    const { kid, privateKey } = await keys.signing();
    const header = JSON.stringify({ alg: 'ES256', typ: types[kind], kid });
    return (token) => {
      const issuedAt = Math.floor(clock() / 1000);
      const expiresAt = issuedAt + lives[kind];
      const claims = JSON.stringify({
        sub: token.creatorId,
        client_id: token.clientId,
        scope: token.scope,
        grant_id: token.grantId,
        family_id: token.familyId,
        iss: issuer,
        aud: audiences[kind],
        jti: randomUUID(),
        iat: issuedAt,
        exp: expiresAt,
      });
      return {
        token: signJwt(header, claims, privateKey),
        expiresIn: lives[kind],
        expiresAt: expiresAt * 1000,
      };
    };
  }

  /** What a token of ours says, also after its end; nothing for any other text. */
  async function open(kind: TokenKind, token: string): Promise<{ claims: TokenClaims; ended: boolean } | undefined> {
    if (token.length > longestToken) return undefined;
    try {
      const { payload } = await jwtVerify(
        token,
        async ({ kid }) => {
          const key = kid === undefined || kid.length > 64 ? undefined : await keys.verifying(kid);
          if (!key) throw new errors.JWKSNoMatchingKey();
          return key;
        },
        {
          algorithms: ['ES256'],
          typ: types[kind],
          issuer,
          audience: audiences[kind],
          requiredClaims: ['sub', 'exp', 'iat', 'jti', 'client_id', 'grant_id', 'family_id', 'scope'],
          currentDate: new Date(clock()),
        },
      );
      return { claims: toClaims(payload), ended: false };
    } catch (error) {
      // The end is the last thing that is checked: whatever else is wrong with a token is found before.
      if (error instanceof errors.JWTExpired) return { claims: toClaims(error.payload), ended: true };
      if (error instanceof errors.JOSEError || error instanceof TypeError) return undefined;
      throw error;
    }
  }

  async function verifyAnew(kind: TokenKind, token: string): Promise<Verified> {
    const opened = await open(kind, token);
    if (!opened) return 'invalid';
    return opened.ended ? 'expired' : opened.claims;
  }

  return {
    signer,
    issue: async (kind: TokenKind, token: NewToken): Promise<SignedToken> => (await signer(kind))(token),

    /** Answers at once for a token seen before; a promise otherwise. */
    verify(kind: TokenKind, token: string): Verified | Promise<Verified> {
      const signature = token.slice(-signatureLength);
      const seen = known[kind].get(signature);
      if (seen && seen.token === token) return seen.claims.expiresAt > clock() ? seen.claims : 'expired';
      return verifyAnew(kind, token).then((verified) => {
        if (typeof verified === 'object') {
          if (known[kind].size >= remembered) known[kind].clear();
          known[kind].set(signature, { token, claims: verified });
        }
        return verified;
      });
    },

    /** Whose token this is, whether it has ended or not; nothing for what we did not sign. */
    async identify(token: string): Promise<TokenClaims | undefined> {
      return (await open('access', token))?.claims;
    },

    /** Forgets tokens that have ended. Called once a minute. */
    sweep(): void {
      for (const tokens of Object.values(known))
        for (const [signature, { claims }] of tokens) if (claims.expiresAt <= clock()) tokens.delete(signature);
    },
  };
}

const toClaims = (payload: JWTPayload): TokenClaims => ({
  creatorId: String(payload.sub),
  clientId: String(payload.client_id),
  grantId: String(payload.grant_id),
  familyId: String(payload.family_id),
  scopes: parseScopes(String(payload.scope)).scopes,
  issuedAt: Number(payload.iat) * 1000,
  expiresAt: Number(payload.exp) * 1000,
});

import { createHash } from 'node:crypto';
import type { Clock } from '../../platform/clock.ts';
import type { Database, Tx } from '../../platform/db/database.ts';
import type { NewId } from '../../platform/ids.ts';
import { hashSecret, sameText } from '../../platform/secrets.ts';
import * as repo from './codes-repo.ts';
import { OAuthError, ReuseError } from './oauth-error.ts';
import { endFamily } from './refresh-repo.ts';
import { formatScopes, intersectScopes, parseScopes } from './scopes.ts';
import type { Grants } from './service.ts';
import type { NewTokenSubject } from './token-draft.ts';

/**
 * The authorization_code grant (RFC 6749, section 4.1.3; RFC 7636).
 * - One conditional update decides who has used a code; it and what it issues commit together.
 * - What is wrong with a request (another app, redirect URI or verifier) leaves the code as it is: whoever shows it
 *   has the app's secret, and a mistake of the app should not cost the creator a second consent.
 * - A code used again later than the race window ends what it issued. That is committed although the answer is
 *   an error, so nothing in here throws inside the write.
 * - A grant that ends while this runs still wins: a family works only while its grant lives.
 */
export interface Exchange {
  readonly code: string;
  readonly redirectUri: string;
  readonly verifier: string | undefined;
}

export interface ExchangeParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly grants: Grants;
  readonly raceMs: number;
}

export interface Issued {
  readonly subject: NewTokenSubject;
  readonly refreshToken: string;
}

export function createExchange({ db, clock, newId, grants, raceMs }: ExchangeParts) {
  async function attempt(tx: Tx, clientId: string, request: Exchange): Promise<Issued | OAuthError> {
    const hash = hashSecret(request.code);
    const code = await repo.codeByHash(tx, hash);
    if (!code || code.client_id !== clientId) return refused('The code is unknown.');
    if (code.used_at !== null) return reused(tx, code);
    if (code.expires_at <= clock()) return refused('The code has expired.');
    if (code.grant_ended_at !== null) return refused('The creator has disconnected the app.');
    if (code.creator_suspended_at !== null) return refused('The creator is suspended.');
    if (code.redirect_uri !== request.redirectUri)
      return refused('The redirect_uri is not the one that the authorization page was opened with.');
    if (!provesChallenge(code.code_challenge, request.verifier))
      return refused('The code_verifier does not belong to the code_challenge.');

    const familyId = newId('fam');
    if (!(await repo.useCode(tx, code.creator_id, hash, clock(), familyId)))
      return reused(tx, await repo.codeByHash(tx, hash));
    const approved = parseScopes(code.scope).scopes;
    const { refreshToken } = await grants.startFamily(tx, code.grant_id, code.creator_id, approved, familyId);
    return {
      refreshToken,
      subject: {
        creatorId: code.creator_id,
        clientId,
        grantId: code.grant_id,
        familyId,
        scope: formatScopes(intersectScopes(approved, parseScopes(code.grant_scope).scopes)),
      },
    };
  }

  /** Two requests in flight at once are forgiven; anything later is a stolen code. */
  async function reused(tx: Tx, code: repo.CodeRow | undefined): Promise<OAuthError> {
    const why = 'The code has been used.';
    if (!code?.family_id || code.used_at === null || (raceMs > 0 && clock() - code.used_at <= raceMs))
      return refused(why);
    await endFamily(tx, code.creator_id, code.family_id, clock());
    return new ReuseError(code.creator_id, why);
  }

  return async (clientId: string, request: Exchange): Promise<Issued> => {
    const outcome = await db.write((tx) => attempt(tx, clientId, request));
    if (outcome instanceof ReuseError) grants.announce(outcome.creatorId);
    if (outcome instanceof OAuthError) throw outcome;
    return outcome;
  };
}

const refused = (why: string): OAuthError => new OAuthError('invalid_grant', why);

/** A verifier without a challenge is refused too: someone has taken the challenge away (RFC 9700, section 4.8.2). */
function provesChallenge(challenge: string | null, verifier: string | undefined): boolean {
  if (challenge === null || verifier === undefined) return challenge === null && verifier === undefined;
  return sameText(createHash('sha256').update(verifier).digest('base64url'), challenge);
}

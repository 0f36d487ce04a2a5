import type { KeyObject } from 'node:crypto';
import { signJwt } from './sign-jwt.ts';

/** What a new token is to say of whom it speaks: its scopes as they stand in it. */
export interface NewTokenSubject {
  readonly creatorId: string;
  readonly clientId: string;
  readonly grantId: string;
  readonly familyId: string;
  readonly scope: string;
}

/**
 * A token without its subject and signature. Its other claims are JSON text without the first brace. A list, because it
 * may cross to another thread with each refresh.
 */
export type TokenDraft = readonly [header: string, otherClaims: string];

export function signToken([header, otherClaims]: TokenDraft, subject: NewTokenSubject, key: KeyObject): string {
  const claims = JSON.stringify({
    sub: subject.creatorId,
    client_id: subject.clientId,
    scope: subject.scope,
    grant_id: subject.grantId,
    family_id: subject.familyId,
  });
  return signJwt(header, `${claims.slice(0, -1)},${otherClaims}`, key);
}

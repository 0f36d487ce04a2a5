import { defineWrites, type Tx } from '../../../platform/db/database.ts';
import { audited } from '../../audit/index.ts';
import { chaosHeader } from '../chaos.ts';
import { newRefreshToken, refreshExpiry, refreshKey, repeatHash } from '../grants/refresh-tokens.ts';
import { formatScopes, intersectScopes, knownScopes, parseScopes, type Scope } from '../scopes.ts';
import { required } from './client.ts';
import {
  aboutReuse,
  type CheckResult,
  checkCreatorActive,
  defineGrantType,
  invalidGrant,
  issuing,
  loadAndCheck,
  type ReadSteps,
  type RedeemInput,
  type Refusal,
  redeem,
  type TokenParts,
} from './grant-type.ts';
import { type Counted, countedFor, type RefreshLimit } from './refresh-limit.ts';
import { isRepeat, type RefreshTokenRow, refreshTokenByKey, rotateRefreshToken } from './repo.ts';
import { exampleCredentials, optionalText } from './schemas.ts';

interface Refresh {
  readonly key: string;
  /** Fewer scopes for this access token; all granted scopes if absent. */
  readonly scope: string | undefined;
  /** Of the `Idempotency-Key`; `null` if there is none. */
  readonly repeatHash: string | null;
}

interface NextToken {
  readonly key: string;
  readonly idleMs: number;
}

const readSteps: ReadSteps<Refresh, RefreshTokenRow> = {
  load: (db, { key }) => refreshTokenByKey(db, key),
  checks: [checkNotRevoked, checkNotPaused, checkUnusedOrRepeat, checkNotExpired, checkCreatorActive, checkScope],
};

async function redeemRefreshToken(tx: Tx, input: RedeemInput<Refresh>, next: NextToken) {
  const { request, now, raceMs } = input;
  return redeem(tx, input, {
    ...readSteps,
    consume: (tx, token) =>
      rotateRefreshToken(tx, {
        key: request.key,
        creatorId: token.creator_id,
        familyId: token.family_id,
        repeatHash: request.repeatHash,
        nextKey: next.key,
        nextExpiresAt: refreshExpiry(now, next.idleMs, token.family_expires_at),
        now,
        raceMs,
      }),
    issue: (token, { scope }) => ({
      grantId: token.grant_id,
      familyId: token.family_id,
      scope: formatScopes(scope === undefined ? grantedScopes(token) : knownScopes(scope)),
      countedFor: countedFor(token),
    }),
  });
}

/** @public The writing thread finds it by this name. */
export const writes = defineWrites(import.meta.url, {
  redeemRefreshToken: audited('grant.reuse_detected', issuing(redeemRefreshToken), aboutReuse),
});

/**
 * The refresh_token grant (RFC 6749, section 6), with rotation (RFC 9700, section 4.14).
 * A second use ends the family, with two exceptions, both while its successor is unused: a repeat with the same
 * `Idempotency-Key` gets another successor instead; within the race window it counts as a concurrent request.
 */
export const refreshToken = defineGrantType({
  credential: 'refresh token',
  fields: {
    refresh_token: optionalText('With `refresh_token`: the newest refresh token'),
    scope: optionalText('With `refresh_token`: fewer scopes for this one access token', ['tips.read']),
  },
  example: { summary: 'Refresh', value: { ...exampleCredentials, refresh_token: 'njr_…' } },
  errors: ['invalid_scope'],
  read(body, idempotencyKey): Refresh {
    const token = required(body, 'refresh_token');
    return {
      key: refreshKey(token),
      scope: body.scope || undefined,
      repeatHash: idempotencyKey === undefined ? null : repeatHash(token, idempotencyKey),
    };
  },
  limit: checkAndCount,
  create({ refreshIdleMs: idleMs }, now) {
    const { token, key } = newRefreshToken(now);
    return { refreshToken: token, values: { key, idleMs } };
  },
  async write({ db, origins, refreshLimit }, input, next) {
    const redeemed = await db.write(writes.redeemRefreshToken, origins.current(), input, next);
    if (redeemed && 'countedFor' in redeemed && redeemed.consumption === 'consumed')
      refreshLimit.remember(next.key, { clientId: input.clientId, countedFor: redeemed.countedFor });
    return redeemed;
  },
});

/** A refused refresh uses nothing up. A second use is never refused here, because it has to end the family. */
async function checkAndCount(
  { db, refreshLimit }: TokenParts,
  input: RedeemInput<Refresh>,
): Promise<CheckResult<RefreshTokenRow | Counted>> {
  const known = refreshLimit.recall(input.request.key);
  const isKnown = known?.clientId === input.clientId;
  if (isKnown && !(await refuseAboveLimit(refreshLimit, known.countedFor))) return { loaded: known };
  const found = await loadAndCheck(db, input, readSteps);
  if (!found || 'error' in found) return found;
  if (checkUnusedOrRepeat(found.loaded, input.request, input.now) === 'used') return found;
  return (await refuseAboveLimit(refreshLimit, countedFor(found.loaded))) ?? found;
}

async function refuseAboveLimit(limit: RefreshLimit, countedFor: string): Promise<Refusal | undefined> {
  const { allowed, resetSeconds } = await limit.take(countedFor);
  return allowed
    ? undefined
    : {
        error: 'too_many_requests',
        description: 'Too many refreshes for this creator. Wait for the seconds in the header Retry-After.',
        headers: { 'retry-after': String(resetSeconds) },
      };
}

/** Chaos of a sandbox creator. Nothing is used up, so that the token works again when chaos is switched off. */
function checkNotPaused({ grant_paused_at }: RefreshTokenRow): Refusal | undefined {
  return grant_paused_at === null
    ? undefined
    : { ...invalidGrant('The refresh token has been revoked.'), headers: { [chaosHeader]: 'revoked' } };
}

function checkNotRevoked({ grant_ended_at, family_ended_at }: RefreshTokenRow): Refusal | undefined {
  return grant_ended_at === null && family_ended_at === null
    ? undefined
    : invalidGrant('The refresh token has been revoked.');
}

/** A repeat must pass the other checks, and uses nothing up if it does not. */
function checkUnusedOrRepeat(token: RefreshTokenRow, { repeatHash }: Refresh, now: number): 'used' | undefined {
  return token.used_at === null || isRepeat(token, repeatHash, now) ? undefined : 'used';
}

/** A used token cannot be idle: a repeat of its refresh lasts as long as the family at most. */
function checkNotExpired(token: RefreshTokenRow, _: Refresh, now: number): Refusal | undefined {
  return (token.used_at === null ? token.expires_at : token.family_expires_at) <= now
    ? invalidGrant('The refresh token has expired.')
    : undefined;
}

function checkScope(token: RefreshTokenRow, { scope }: Refresh): Refusal | undefined {
  if (scope === undefined) return undefined;
  const { scopes, unknown } = parseScopes(scope);
  const granted = grantedScopes(token);
  return unknown.length === 0 && scopes.every((name) => granted.includes(name))
    ? undefined
    : { error: 'invalid_scope', description: undefined };
}

/** The scopes of the family that the grant still has. */
export function grantedScopes({ family_scope, grant_scope }: RefreshTokenRow): Scope[] {
  return intersectScopes(knownScopes(family_scope), knownScopes(grant_scope));
}

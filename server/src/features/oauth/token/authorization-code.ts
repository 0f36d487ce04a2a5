import { createHash } from 'node:crypto';
import { defineWrites, type Tx } from '../../../platform/db/database.ts';
import { hashSecret, sameText } from '../../../platform/secrets.ts';
import { auditedAsOneOf } from '../../audit/index.ts';
import type { NewFamily } from '../grants/families-repo.ts';
import { newFamily } from '../grants/refresh-tokens.ts';
import { required } from './client.ts';
import { OAuthError } from './errors.ts';
import {
  aboutConnection,
  aboutReuse,
  checkCreatorActive,
  checkGrantLives,
  checkUnused,
  defineGrantType,
  invalidGrant,
  issuedScope,
  issuing,
  loadAndCheck,
  type ReadSteps,
  type RedeemInput,
  type Refusal,
  redeem,
} from './grant-type.ts';
import { type CodeRow, codeByHash, consumeCode } from './repo.ts';
import { exampleCredentials, optionalText } from './schemas.ts';

interface CodeExchange {
  readonly hash: string;
  readonly redirectUri: string;
  readonly verifier: string | undefined;
}

const readSteps: ReadSteps<CodeExchange, CodeRow> = {
  load: (db, { hash }) => codeByHash(db, hash),
  // Whoever cannot prove that the code was theirs must not end, by a used code, what it has issued.
  checks: [
    checkRedirectUri,
    checkVerifier,
    checkNotReused,
    checkUnused,
    checkNotExpired,
    checkGrantLives,
    checkCreatorActive,
  ],
};

async function redeemCode(tx: Tx, input: RedeemInput<CodeExchange>, family: NewFamily) {
  const { now, raceMs } = input;
  return redeem(tx, input, {
    ...readSteps,
    consume: (tx, code) => consumeCode(tx, code, family, now, raceMs),
    issue: (code) => ({ grantId: code.grant_id, familyId: family.familyId, scope: issuedScope(code) }),
  });
}

/** @public The writing thread finds it by this name. */
export const writes = defineWrites(import.meta.url, {
  redeemCode: auditedAsOneOf(
    [
      ['grant.connected', aboutConnection],
      ['grant.reuse_detected', aboutReuse],
    ],
    issuing(redeemCode),
  ),
});

/**
 * The authorization_code grant (RFC 6749, section 4.1.3; RFC 7636).
 * A second use within the race window counts as a concurrent request. A later one counts as theft.
 */
export const authorizationCode = defineGrantType({
  credential: 'code',
  fields: {
    code: optionalText('With `authorization_code`: the code from the redirect'),
    redirect_uri: optionalText('With `authorization_code`: the one that the authorization page was opened with', [
      'https://app.example/callback',
    ]),
    code_verifier: optionalText('With `authorization_code`: required if the page was opened with a `code_challenge`'),
  },
  example: {
    summary: 'Exchange a code',
    value: { ...exampleCredentials, code: 'njc_…', redirect_uri: 'https://app.example/callback' },
  },
  errors: [],
  read: (body): CodeExchange => ({
    hash: hashSecret(required(body, 'code')),
    redirectUri: required(body, 'redirect_uri'),
    verifier: readVerifier(body.code_verifier),
  }),
  precheck: (db, input) => loadAndCheck(db, input, readSteps),
  create(parts, now) {
    const { family, refreshToken } = newFamily(parts, now);
    return { refreshToken, values: family };
  },
  write: ({ db, origins }, ...args) => db.write(writes.redeemCode, origins.current(), ...args),
});

/** RFC 7636, section 4.1 */
const verifierForm = /^[A-Za-z0-9._~-]{43,128}$/;

function readVerifier(verifier: string | null | undefined): string | undefined {
  if (!verifier) return undefined;
  if (!verifierForm.test(verifier))
    throw new OAuthError('invalid_request', 'code_verifier must have 43 to 128 characters of A-Z a-z 0-9 - . _ ~');
  return verifier;
}

/** A second use ends the family once. */
function checkNotReused({ used_at, family_lives }: CodeRow): Refusal | undefined {
  return used_at !== null && family_lives === 0 ? invalidGrant('The code has been used.') : undefined;
}

function checkNotExpired({ expires_at }: CodeRow, _: CodeExchange, now: number): Refusal | undefined {
  return expires_at <= now ? invalidGrant('The code has expired.') : undefined;
}

function checkRedirectUri({ redirect_uri }: CodeRow, { redirectUri }: CodeExchange): Refusal | undefined {
  return redirect_uri === redirectUri
    ? undefined
    : invalidGrant('The redirect_uri is not the one that the authorization page was opened with.');
}

/** A verifier without a challenge is refused too: an attacker may have removed the challenge (RFC 9700, section 4.8.2). */
function checkVerifier({ code_challenge }: CodeRow, { verifier }: CodeExchange): Refusal | undefined {
  const proven =
    code_challenge === null || verifier === undefined
      ? code_challenge === null && verifier === undefined
      : sameText(createHash('sha256').update(verifier).digest('base64url'), code_challenge);
  return proven ? undefined : invalidGrant('The code_verifier does not belong to the code_challenge.');
}

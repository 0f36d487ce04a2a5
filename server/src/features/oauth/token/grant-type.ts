/**
 * The shape of every grant type: read the request → authenticate the client → load → checks → consume → sign.
 * A new grant type is a file with these steps and a row in the table of token/service.ts.
 *
 * - The signing key is loaded before a code or token is consumed. The access token is signed after the commit, where the
 *   write ran (`issuing`): on SQLite that is the writing thread, which is less busy than the event loop.
 * - Load, checks and consume are one write. On PostgreSQL others may still commit between them, so only the conditional
 *   update decides between concurrent requests. The new refresh token commits with it. If the update changes nothing, the
 *   same write handles reuse: it ends the family, although the answer is an error.
 * - A failed check does not consume the code or token: the caller has the app's secret, and the app's mistake should not
 *   cost the creator a second consent.
 * - A grant or family that ends meanwhile still takes effect: the issued tokens work only while both live.
 * - Anybody can call in the name of a public app. What its write would refuse is refused by a read before it, so that
 *   strangers do not fill the queue of writes.
 */
import type { Reader, Tx, WriteFunction } from '../../../platform/db/database.ts';
import type { Platform } from '../../../platform/platform.ts';
import type { AppRow } from '../../apps/index.ts';
import type { Subject } from '../../audit/index.ts';
import { familyPartsOf, type NewFamilyParts } from '../grants/refresh-tokens.ts';
import type { Grants } from '../grants/service.ts';
import { type SignedToken, type Signing, signToken, type Tokens } from '../keys/tokens.ts';
import { formatScopes, intersectScopes, knownScopes } from '../scopes.ts';
import { type TokenResponse, toTokenResponse } from '../token-response.ts';
import { OAuthError, type OAuthErrorName } from './errors.ts';
import type { RefreshLimit } from './refresh-limit.ts';
import type { Consumption } from './repo.ts';
import type { OptionalText } from './schemas.ts';

export interface TokenParts extends Pick<Platform, 'db' | 'origins' | 'clock' | 'limiter'>, NewFamilyParts {
  readonly tokens: Tokens;
  readonly grants: Grants;
  /** A second use within this time counts as a concurrent request. */
  readonly raceMs: number;
  readonly refreshLimit: RefreshLimit;
}

/** The parts of a grant type for the API document. */
interface Documentation {
  readonly fields: Readonly<Record<string, OptionalText>>;
  readonly example: { readonly summary: string; readonly value: Readonly<Record<string, string>> };
  /** In addition to the errors of every grant type. */
  readonly errors: readonly OAuthErrorName[];
}

type Body<Field extends string> = { readonly [Name in Field]?: string | null | undefined };

interface Steps<Field extends string, Request, New> extends Documentation {
  readonly fields: Readonly<Record<Field, OptionalText>>;
  /** The name of the code or token in error messages. */
  readonly credential: string;
  /** Runs before the client is authenticated. Throws for a missing or malformed field. */
  read(body: Body<Field>, idempotencyKey: string | undefined): Request;
  /** For what an app asks for again and again until it is there: refuses by a read, so that waiting writes nothing. */
  wait?(parts: TokenParts, request: Request, clientId: string): Promise<Refusal | undefined>;
  /** What `redeem` checks first, by a read. Left out where `wait` or `limit` refuses the same. */
  precheck?(db: Reader, input: RedeemInput<Request>): Promise<CheckResult<unknown>>;
  /** Counts what is expected to succeed, and refuses it over a limit. Runs for every client, before the write. */
  limit?(parts: TokenParts, input: RedeemInput<Request>): Promise<CheckResult<unknown>>;
  /** The new refresh token, and what the write needs of it. */
  create(parts: NewFamilyParts, now: number): { readonly refreshToken: string; readonly values: New };
  /** Load → checks → consume, in one write whose function calls `redeem`. */
  write(parts: TokenParts, input: RedeemInput<Request>, values: New): Promise<Redemption>;
}

/** The request of an authenticated app, with what its write needs to know. */
export interface RedeemInput<Request> {
  readonly request: Request;
  readonly clientId: string;
  readonly now: number;
  readonly raceMs: number;
  readonly signing: Signing;
}

/** What to issue. */
interface Issue {
  readonly grantId: string;
  readonly familyId: string;
  readonly scope: string;
}

export interface Refusal {
  readonly error: OAuthErrorName;
  readonly description: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** `undefined`: the app has no such code or token. */
type Redemption<Issued extends Issue = Issue> =
  | (Issued & {
      readonly creatorId: string;
      readonly consumption: Consumption;
      /** If it is consumed, after the commit. */
      readonly access?: SignedToken;
    })
  | Refusal
  | undefined;

/** `'used'` skips the other checks: consuming decides what a second use means. */
type Check<Loaded, Request> = (loaded: Loaded, request: Request, now: number) => Refusal | 'used' | undefined;

/** The steps that change nothing. */
export interface ReadSteps<Request, Loaded> {
  load(db: Reader, request: Request): Promise<Loaded | undefined>;
  readonly checks: readonly Check<Loaded, Request>[];
}

interface WriteSteps<Request, Loaded, Issued extends Issue> extends ReadSteps<Request, Loaded> {
  /** What to issue if `consume` succeeds. */
  issue(loaded: Loaded, request: Request): Issued;
  consume(tx: Tx, loaded: Loaded): Promise<Consumption>;
}

export type CheckResult<Loaded> = { readonly loaded: Loaded } | Refusal | undefined;

export async function loadAndCheck<Request, Loaded extends { readonly client_id: string }>(
  db: Reader,
  { request, clientId, now }: RedeemInput<Request>,
  { load, checks }: ReadSteps<Request, Loaded>,
): Promise<CheckResult<Loaded>> {
  const loaded = await load(db, request);
  if (loaded?.client_id !== clientId) return undefined;
  for (const check of checks) {
    const result = check(loaded, request, now);
    if (result === 'used') break;
    if (result) return result;
  }
  return { loaded };
}

export async function redeem<
  Request,
  Loaded extends { readonly client_id: string; readonly creator_id: string },
  Issued extends Issue,
>(tx: Tx, input: RedeemInput<Request>, steps: WriteSteps<Request, Loaded, Issued>): Promise<Redemption<Issued>> {
  const found = await loadAndCheck(tx, input, steps);
  if (!found || 'error' in found) return found;
  const { request } = input;
  const { loaded } = found;
  const consumption = await steps.consume(tx, loaded);
  return { ...steps.issue(loaded, request), creatorId: loaded.creator_id, consumption };
}

/** The write function of a grant type, whose answer has the access token, unless it consumed nothing. */
export function issuing<Request, New, Issued extends Issue>(
  redeem: (tx: Tx, input: RedeemInput<Request>, values: New) => Promise<Redemption<Issued>>,
): WriteFunction<[input: RedeemInput<Request>, values: New], Redemption<Issued>> {
  const complete = (redeemed: Redemption<Issued>, { signing, clientId, now }: RedeemInput<Request>) => {
    if (!redeemed || 'error' in redeemed || redeemed.consumption !== 'consumed') return redeemed;
    return { ...redeemed, access: signToken(signing, { ...redeemed, clientId }, now) };
  };
  return Object.assign(redeem, { complete });
}

/** For the audit log: the tokens that were issued. */
export const aboutConnection = (
  redeemed: Redemption,
  { clientId }: RedeemInput<unknown>,
  _: unknown,
): Subject | false =>
  redeemed !== undefined &&
  !('error' in redeemed) &&
  redeemed.consumption === 'consumed' && {
    creatorId: redeemed.creatorId,
    clientId,
    details: { scope: redeemed.scope },
  };

/** For the audit log: a family that ended because its code or refresh token was used again. */
export const aboutReuse = (redeemed: Redemption, { clientId }: RedeemInput<unknown>, _: unknown): Subject | false =>
  redeemed !== undefined &&
  !('error' in redeemed) &&
  redeemed.consumption === 'reused' && { creatorId: redeemed.creatorId, clientId };

/** The authenticated app. */
export type Client = Pick<AppRow, 'id' | 'public'>;

export interface GrantType extends Documentation {
  /** Reads the body and returns the remaining steps. */
  read(
    body: Body<string>,
    idempotencyKey: string | undefined,
  ): (parts: TokenParts, client: Client) => Promise<TokenResponse>;
}

export function defineGrantType<Field extends string, Request, New>(steps: Steps<Field, Request, New>): GrantType {
  const { fields, example, errors, credential } = steps;
  return {
    fields,
    example,
    errors,
    read(body, idempotencyKey) {
      const request = steps.read(body, idempotencyKey);
      return async (parts, client) => {
        const clientId = client.id;
        const { db, clock, grants, raceMs } = parts;
        const waiting = await steps.wait?.(parts, request, clientId);
        if (waiting) throw toError(waiting);
        const signing = await parts.tokens.signing('access');
        const now = clock();
        const input = { request, clientId, now, raceMs, signing };
        if (steps.limit) requireFound(await steps.limit(parts, input), credential);
        if (client.public === 1 && steps.precheck) requireFound(await steps.precheck(db, input), credential);
        const { refreshToken, values } = steps.create(familyPartsOf(client, parts), now);
        const redeemed = requireFound(await steps.write(parts, input, values), credential);
        if (redeemed.consumption === 'reused') grants.announce(redeemed.creatorId);
        if (!redeemed.access) throw new OAuthError('invalid_grant', `The ${credential} has been used.`);
        return toTokenResponse(redeemed.access, refreshToken, redeemed.scope);
      };
    },
  };
}

function requireFound<Found extends object>(found: Found | Refusal | undefined, credential: string): Found {
  if (!found) throw new OAuthError('invalid_grant', `The ${credential} is unknown.`);
  if ('error' in found) throw toError(found);
  return found;
}

const toError = ({ error, description, headers }: Refusal): OAuthError =>
  new OAuthError(error, description, { ...headers });

export const checkUnused = ({ used_at }: { used_at: number | null }): 'used' | undefined =>
  used_at === null ? undefined : 'used';

export const checkCreatorActive = ({ creator_suspended_at }: { creator_suspended_at: number | null }) =>
  creator_suspended_at === null ? undefined : invalidGrant('The creator is suspended.');

export const checkGrantLives = ({ grant_ended_at }: { grant_ended_at: number | null }): Refusal | undefined =>
  grant_ended_at === null ? undefined : invalidGrant('The creator has disconnected the app.');

/** The scopes of a public app's new family are its own; otherwise the grant may have lost some since. */
export function issuedScope(approval: { scope: string; grant_scope: string; app_public: number }): string {
  if (approval.app_public === 1) return approval.scope;
  return formatScopes(intersectScopes(knownScopes(approval.scope), knownScopes(approval.grant_scope)));
}

export const invalidGrant = (description: string): Refusal => ({ error: 'invalid_grant', description });

/**
 * The shape of every grant type: read the request → authenticate the client → load → checks → consume → issue.
 * A new grant type is a file with these steps and a row in the table of token/service.ts.
 *
 * - The signing key is loaded before a code or token is consumed.
 * - A failed check does not consume the code or token: the caller has the app's secret, and the app's mistake should not
 *   cost the creator a second consent.
 * - One write consumes: its conditional update decides between concurrent requests, and the new refresh token commits with
 *   it. If the update changes nothing, the same write handles reuse: it ends the family, although the answer is an error.
 * - A grant or family that ends meanwhile still takes effect: the issued tokens work only while both live.
 */
import type { Database } from '../../../platform/db/database.ts';
import type { Platform } from '../../../platform/platform.ts';
import type { NewFamilyParts } from '../grants/refresh-tokens.ts';
import type { Grants } from '../grants/service.ts';
import type { Tokens } from '../keys/tokens.ts';
import { OAuthError, type OAuthErrorName } from './errors.ts';
import type { Consumption } from './repo.ts';
import { type OptionalText, type TokenResponse, toTokenResponse } from './schemas.ts';

export interface TokenParts extends Pick<Platform, 'db' | 'clock'>, NewFamilyParts {
  readonly tokens: Tokens;
  readonly grants: Grants;
  /** A second use within this time counts as a concurrent request. */
  readonly raceMs: number;
}

/** The parts of a grant type for the API document. */
interface Documentation {
  readonly fields: Readonly<Record<string, OptionalText>>;
  readonly example: { readonly summary: string; readonly value: Readonly<Record<string, string>> };
  /** In addition to the errors of every grant type. */
  readonly errors: readonly OAuthErrorName[];
}

type Body<Field extends string> = { readonly [Name in Field]?: string | null | undefined };

/** Throws an `OAuthError`. `'used'` skips the other checks: the write decides what a second use means. */
type Check<Loaded, Request> = (loaded: Loaded, request: Request, now: number) => 'used' | undefined;

interface Steps<Field extends string, Request, Loaded> extends Documentation {
  readonly fields: Readonly<Record<Field, OptionalText>>;
  /** The name of the code or token in error messages. */
  readonly credential: string;
  /** Runs before the client is authenticated. Throws for a missing or malformed field. */
  read(body: Body<Field>): Request;
  load(db: Database, request: Request): Promise<Loaded | undefined>;
  readonly checks: readonly Check<Loaded, Request>[];
  consume(parts: TokenParts, loaded: Loaded, request: Request, now: number): Consumed;
}

/** The consuming write, and what to issue if it succeeds. */
interface Consumed {
  readonly consumption: Promise<Consumption>;
  readonly grantId: string;
  readonly familyId: string;
  readonly scope: string;
  readonly refreshToken: string;
}

export interface GrantType extends Documentation {
  /** Reads the body and returns the remaining steps. */
  read(body: Body<string>): (parts: TokenParts, clientId: string) => Promise<TokenResponse>;
}

export function defineGrantType<
  Field extends string,
  Request,
  Loaded extends { readonly client_id: string; readonly creator_id: string },
>(steps: Steps<Field, Request, Loaded>): GrantType {
  const { fields, example, errors, credential } = steps;
  return {
    fields,
    example,
    errors,
    read(body) {
      const request = steps.read(body);
      return async (parts, clientId) => {
        const sign = await parts.tokens.signer('access');
        const now = parts.clock();
        const loaded = await steps.load(parts.db, request);
        if (loaded?.client_id !== clientId) throw invalidGrant(`The ${credential} is unknown.`);
        for (const check of steps.checks) if (check(loaded, request, now) === 'used') break;
        const creatorId = loaded.creator_id;
        const { grantId, familyId, scope, refreshToken, ...consumed } = steps.consume(parts, loaded, request, now);
        // The event loop signs while the writing thread commits. A token that is not issued is discarded.
        const accessToken = sign({ creatorId, clientId, grantId, familyId, scope });
        const consumption = await consumed.consumption;
        if (consumption === 'reused') parts.grants.announce(creatorId);
        if (consumption !== 'consumed') throw invalidGrant(`The ${credential} has been used.`);
        return toTokenResponse(accessToken, refreshToken, scope);
      };
    },
  };
}

export const checkUnused = ({ used_at }: { used_at: number | null }): 'used' | undefined =>
  used_at === null ? undefined : 'used';

export function checkCreatorActive({ creator_suspended_at }: { creator_suspended_at: number | null }): undefined {
  if (creator_suspended_at !== null) throw invalidGrant('The creator is suspended.');
}

export const invalidGrant = (description: string): OAuthError => new OAuthError('invalid_grant', description);

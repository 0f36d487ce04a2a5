import type { FastifyReply, FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import { ApiError, type ErrorCode, errorResponses } from '../../errors.ts';
import { countHeader } from '../../platform/http/headers.ts';
import type { Limiter } from '../../platform/limiter/limiter.ts';
import type { SandboxCall } from './chaos.ts';
import type { Access, AccessLookup } from './grants/access.ts';
import type { LastUsed } from './grants/last-used.ts';
import type { Tokens, Verified } from './keys/tokens.ts';
import { checkLimit, type GrantLimitGroup, limits } from './limits.ts';
import type { Scope } from './scopes.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The app that calls, and the creator for whom it calls. Set by the bearer guard. */
    grant: Access;
    /** The creator of a token that was refused. */
    creatorId: string | undefined;
  }
  interface FastifyContextConfig {
    protection?: Protection;
  }
}

interface Protection {
  /** `null`: any valid token. */
  readonly scope: Scope | null;
  readonly limit: GrantLimitGroup;
}

/** Route options. A request reaches the handler only with a valid token, a live grant, the scope, and within the limit. */
export type Protect = (protection: Protection) => {
  onRequest: (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) => void;
  config: { protection: Protection };
};

export interface GuardParts {
  readonly tokens: Tokens;
  readonly access: AccessLookup;
  readonly limiter: Limiter;
  readonly lastUsed: Pick<LastUsed, 'record'>;
  /** Asked about each call for a sandbox creator. */
  readonly sandboxCall: SandboxCall;
}

export function createGuard({ tokens, access, limiter, lastUsed, sandboxCall }: GuardParts): Protect {
  return (protection) => {
    const { scope, limit } = protection;
    const rule = limits[limit];

    // The checks in order. A request whose token and grant are cached passes them without a promise.
    function checkToken(request: FastifyRequest, reply: FastifyReply): void | Promise<void> {
      const token = bearerToken(request);
      return next(tokens.verify('access', token), (verified) => {
        if (verified === 'expired') Object.assign(request, tokens.partiesOf(token));
        const claims = requireValid(verified);
        return next(access(claims), (grant) => {
          if (grant) return checkGrant(request, reply, grant);
          request.clientId = claims.clientId;
          request.creatorId = claims.creatorId;
          throw new ApiError('grant_unusable');
        });
      });
    }

    function checkGrant(request: FastifyRequest, reply: FastifyReply, grant: Access): void | Promise<void> {
      request.grant = grant;
      checkScope(grant, scope);
      if (grant.sandboxOf === null) return countRequest(reply, grant);
      return sandboxCall(request, reply, grant, limit).then(() => countRequest(reply, grant));
    }

    function countRequest(reply: FastifyReply, grant: Access): void | Promise<void> {
      return next(limiter.take(grant.limitKeys[limit], rule), (verdict) => {
        checkLimit(reply, limit, verdict);
        lastUsed.record(grant);
      });
    }

    return {
      config: { protection },
      onRequest(request, reply, done) {
        try {
          const later = checkToken(request, reply);
          if (later) later.then(() => done(), done);
          else done();
        } catch (error) {
          done(error as Error);
        }
      },
    };
  };
}

/** Calls `then` synchronously unless the value is a promise. */
function next<T, R>(value: T | Promise<T>, then: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(then) : then(value);
}

/** RFC 6750, section 2.1. Only the header: a token in a query string ends up in logs. */
function bearerToken(request: FastifyRequest): string {
  const header = request.headers.authorization;
  if (header === undefined) throw new ApiError('token_missing', { headers: { 'www-authenticate': 'Bearer' } });
  // A pattern that captures the whole token would take ten times as long.
  const scheme = /^bearer\b */i.exec(header)?.[0];
  if (scheme === undefined) throw new ApiError('token_missing', { headers: { 'www-authenticate': 'Bearer' } });
  const token = header.slice(scheme.length);
  if (token === '' || !scheme.endsWith(' ') || /[\s,]/.test(token) || countHeader(request, 'authorization') > 1)
    throw tokenError('token_invalid', 'The access token is malformed');
  return token;
}

function requireValid(verified: Verified) {
  if (verified === 'expired') throw tokenExpired();
  if (verified === 'invalid') throw tokenError('token_invalid', 'The access token is not valid');
  return verified;
}

export const tokenExpired = (): ApiError => tokenError('token_expired', 'The access token has expired');

function tokenError(code: 'token_invalid' | 'token_expired', description: string): ApiError {
  return new ApiError(code, {
    headers: { 'www-authenticate': `Bearer error="invalid_token", error_description="${description}"` },
  });
}

function checkScope(grant: Access, scope: Scope | null): void {
  if (scope === null || grant.scopes.includes(scope)) return;
  throw new ApiError('insufficient_scope', {
    message: `This endpoint requires scope: ${scope}`,
    headers: { 'www-authenticate': `Bearer error="insufficient_scope", scope="${scope}"` },
  });
}

/**
 * Response schemas of a protected route: the errors of the guard, and those of this route. The server does not start if
 * `scope` is not that of the guard.
 */
export function protectedErrors(scope: Scope | null, ...more: ErrorCode[]): Record<number, TSchema> {
  const responses = errorResponses(
    'token_missing',
    'token_invalid',
    'token_expired',
    'grant_unusable',
    ...(scope === null ? [] : (['insufficient_scope'] as const)),
    ...more,
    'rate_limited',
    'internal_error',
    'upstream_failed',
  );
  return { ...responses, 403: { ...responses[403], 'x-scope': scope } };
}

/** The faults of API calls: what the guard asks about each call for a sandbox creator. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ApiError } from '../../../errors.ts';
import { idempotencyKey, isIdempotencyKeyForm } from '../../../platform/http/idempotency-key.ts';
import type { Platform } from '../../../platform/platform.ts';
import { chaosHeader, checkLimit, limits, type SandboxCall, tokenExpired } from '../../oauth/index.ts';
import { isAfterCommit, retrySeconds, slowMs } from './decide.ts';
import type { Fault, Pair } from './repo.ts';
import type { Chaos } from './service.ts';

export interface CallFaultsParts extends Pick<Platform, 'wait' | 'log'> {
  readonly chaos: Pick<Chaos, 'count' | 'recorded'>;
}

/** How many calls of a node are slow at once; further ones are answered without the wait. */
const mostSlow = 200;

export function createCallFaults({ chaos, wait, log }: CallFaultsParts): SandboxCall {
  let slow = 0;

  async function beSlow(ms: number): Promise<void> {
    if (slow >= mostSlow) return;
    slow += 1;
    try {
      await wait(ms);
    } finally {
      slow -= 1;
    }
  }

  /** Replaces whatever the handler answers. By then it has committed. */
  function failAfterCommit(reply: FastifyReply, pair: Pair, { number }: Fault): void {
    const { send } = reply;
    reply.send = () => {
      reply.send = send;
      const tipId = /^\/v1\/tips\/(tip_\w+)$/.exec(String(reply.getHeader('location')))?.[1];
      for (const name of ['location', 'idempotency-replayed', 'content-type']) reply.removeHeader(name);
      const listed = tipId === undefined ? Promise.resolve() : chaos.recorded(pair, number, tipId);
      void listed
        .catch((err) => log.warn({ err }, 'a tip was not added to the report of chaos'))
        .then(() => reply.send(new ApiError('upstream_failed')));
      return reply;
    };
  }

  return async (request, reply, grant, limit) => {
    const pair = { creatorId: grant.creatorId, clientId: grant.clientId };
    const fault = await chaos.count({ ...pair, channel: 'call', amount: 1, ...about(request) });
    if (!fault) return;
    reply.header(chaosHeader, fault.kind);
    switch (fault.kind) {
      case 'revoked':
        throw new ApiError('grant_unusable');
      case 'token_expired':
        throw tokenExpired();
      case 'rate_limited':
        return checkLimit(reply, limit, { allowed: false, remaining: 0, resetSeconds: retrySeconds(fault) });
      case 'slow':
        return beSlow(slowMs(fault));
      case 'upstream_failed':
        // A read commits nothing, so it fails at once.
        if (limits[limit] === limits.read || !isAfterCommit(fault)) throw new ApiError('upstream_failed');
        return failAfterCommit(reply, pair, fault);
    }
  };
}

/** A key that is not well-formed is refused later. */
function about(request: FastifyRequest) {
  const key = isIdempotencyKeyForm(request) ? idempotencyKey(request) : undefined;
  return {
    subject: `${request.method} ${request.routeOptions.url ?? ''}`,
    requestId: request.id,
    key: key ?? null,
    tokenAt: tokenIssuedAt(request),
  };
}

/** The guard has verified the token. Its time is in whole seconds: the end of that second counts. */
function tokenIssuedAt({ headers }: FastifyRequest): number {
  const [, claims = ''] = (headers.authorization ?? '').split('.');
  return JSON.parse(Buffer.from(claims, 'base64url').toString()).iat * 1000 + 999;
}

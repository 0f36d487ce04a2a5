import type { FastifyReply, FastifyRequest, preHandlerHookHandler } from 'fastify';
import type { TSchema } from 'typebox';
import { ApiError, type ErrorCode, errorResponses } from '../../../errors.ts';
import { actAs } from '../../../platform/http/act-as.ts';
import type { Origins } from '../../../platform/origin.ts';
import { type Apps, basicCredentials } from '../../apps/index.ts';
import type { AppLimitGroup } from '../../oauth/index.ts';
import type { WebhookLimits } from './limits.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The app itself is the caller, with HTTP Basic, and is counted in this group. */
    clientLimit?: AppLimitGroup;
  }
}

/** Options of a route that an app calls with its own credentials, and the app that called it. */
export interface ClientGuard {
  options(limit: AppLimitGroup): {
    onRequest: (request: FastifyRequest, reply: FastifyReply) => Promise<void>;
    preHandler: preHandlerHookHandler;
    config: { clientLimit: AppLimitGroup };
  };
  clientId(request: FastifyRequest): string;
}

export function createClientGuard(apps: Apps, limits: WebhookLimits, origins: Origins): ClientGuard {
  const preHandler = actAs(origins, ({ clientId }) => clientId);
  return {
    options: (limit) => ({
      config: { clientLimit: limit },
      preHandler,
      async onRequest(request, reply) {
        const credentials = basicCredentials(request);
        if (typeof credentials === 'string') throw unauthorized();
        const verdict = await apps.authenticate(credentials, request.ip);
        if ('app' in verdict) {
          request.clientId = verdict.app.id;
          await limits.count(verdict.app.id, limit, reply);
        } else if (verdict.refused === 'throttled')
          throw new ApiError('rate_limited', { headers: { 'retry-after': String(verdict.retryAfterSeconds) } });
        else throw unauthorized();
      },
    }),
    clientId({ clientId }) {
      if (clientId === undefined) throw new Error('this route is not guarded');
      return clientId;
    },
  };
}

const unauthorized = (): ApiError =>
  new ApiError('client_invalid', { headers: { 'www-authenticate': 'Basic realm="Namjai", charset="UTF-8"' } });

/** Response schemas: the errors of the guard, and those of this route. */
export function clientErrors(...more: ErrorCode[]): Record<number, TSchema> {
  return errorResponses('client_invalid', ...more, 'rate_limited', 'internal_error', 'upstream_failed');
}

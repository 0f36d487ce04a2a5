import type { FastifyRequest } from 'fastify';
import type { TSchema } from 'typebox';
import { ApiError, type ErrorCode, errorResponses } from '../../../errors.ts';
import { type Apps, basicCredentials } from '../../apps/index.ts';

/** Options of a route that an app calls with its own credentials, and the app that called it. */
export interface ClientGuard {
  readonly options: { onRequest: (request: FastifyRequest) => Promise<void>; config: { clientAuth: 'basic' } };
  clientId(request: FastifyRequest): string;
}

export function createClientGuard(apps: Apps): ClientGuard {
  const callers = new WeakMap<FastifyRequest, string>();
  return {
    options: {
      config: { clientAuth: 'basic' },
      async onRequest(request) {
        const credentials = basicCredentials(request);
        if (typeof credentials === 'string') throw unauthorized();
        const verdict = await apps.authenticate(credentials, request.ip);
        if ('app' in verdict) callers.set(request, verdict.app.id);
        else if (verdict.refused === 'throttled')
          throw new ApiError('rate_limited', { headers: { 'retry-after': String(verdict.retryAfterSeconds) } });
        else throw unauthorized();
      },
    },
    clientId(request) {
      const id = callers.get(request);
      if (id === undefined) throw new Error('this route is not guarded');
      return id;
    },
  };
}

const unauthorized = (): ApiError =>
  new ApiError('client_invalid', { headers: { 'www-authenticate': 'Basic realm="Namjai", charset="UTF-8"' } });

/** Response schemas: the errors of the guard, and those of this route. */
export function clientErrors(...more: ErrorCode[]): Record<number, TSchema> {
  return errorResponses('client_invalid', ...more, 'rate_limited', 'internal_error', 'upstream_failed');
}

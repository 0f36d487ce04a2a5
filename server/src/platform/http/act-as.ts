import type { FastifyRequest, preHandlerHookHandler } from 'fastify';
import type { Origins } from '../origin.ts';

/**
 * A `preHandler` hook: what a request changes, it changes as the creator or app that `actorOf` names, or as a visitor. Not
 * an earlier hook: reading the body loses the context.
 */
export const actAs =
  (origins: Origins, actorOf: (request: FastifyRequest) => string | undefined): preHandlerHookHandler =>
  (request, _reply, done) => {
    const actor = () => ({
      actor: actorOf(request) ?? null,
      address: request.ip,
      requestId: request.id,
      osUser: null,
    });
    origins.run(actor, done);
  };

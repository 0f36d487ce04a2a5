import type { FastifyReply } from 'fastify';
import type { Limiter } from '../../../platform/limiter/limiter.ts';
import { type AppLimitGroup, checkLimit, limits, rateLimited } from '../../oauth/index.ts';

export type WebhookLimits = ReturnType<typeof createWebhookLimits>;

/** Endpoints of one app, beside its listener. */
export const maxEndpoints = 10;

/** The limits of an app's own calls, over all its endpoints, and of what its owner or a creator asks for on pages. */
export function createWebhookLimits(limiter: Limiter) {
  const take = (clientId: string, group: AppLimitGroup, cost?: number) =>
    limiter.take(`${clientId}:${group}`, limits[group], cost);

  async function allow(ownerId: string, group: AppLimitGroup): Promise<void> {
    const verdict = await take(ownerId, group);
    if (!verdict.allowed) throw rateLimited(verdict);
  }

  return {
    /** Counts a call of the API. One of `send` is counted in `manage` as well, unless either refuses it. */
    async count(clientId: string, group: AppLimitGroup, reply: FastifyReply): Promise<void> {
      if (group === 'send') {
        const manage = await take(clientId, 'manage', 0);
        if (manage.remaining === 0) checkLimit(reply, 'manage', { ...manage, allowed: false });
        checkLimit(reply, group, await take(clientId, group));
        const counted = await take(clientId, 'manage');
        // Others have taken the rest since it was read.
        if (!counted.allowed) checkLimit(reply, 'manage', counted);
      } else checkLimit(reply, group, await take(clientId, group));
    },

    /** A ping, retry or replay that the owner of the app or connection asks for on a page. */
    send: (ownerId: string) => allow(ownerId, 'send'),

    /** A change that the owner of a connection makes on a page. */
    manage: (ownerId: string) => allow(ownerId, 'manage'),
  };
}

import type { FastifyReply } from 'fastify';
import type { Limiter } from '../../../platform/limiter/limiter.ts';
import { type AppLimitGroup, checkLimit, limits, rateLimited } from '../../oauth/index.ts';

export type WebhookLimits = ReturnType<typeof createWebhookLimits>;

/** The limits of an app's own calls, over all its endpoints. */
export function createWebhookLimits(limiter: Limiter) {
  const take = (clientId: string, group: AppLimitGroup, cost?: number) =>
    limiter.take(`${clientId}:${group}`, limits[group], cost);

  return {
    /** Counts a call of the API. One of `send` is counted in `manage` as well, unless either refuses it. */
    async count(clientId: string, group: AppLimitGroup, reply: FastifyReply): Promise<void> {
      if (group === 'send') {
        const manage = await take(clientId, 'manage', 0);
        if (manage.remaining === 0) checkLimit(reply, 'manage', { ...manage, allowed: false });
        checkLimit(reply, group, await take(clientId, group));
        await take(clientId, 'manage');
      } else checkLimit(reply, group, await take(clientId, group));
    },

    /** A ping, retry or replay that the app's owner asks for in the portal. */
    async send(clientId: string): Promise<void> {
      const verdict = await take(clientId, 'send');
      if (!verdict.allowed) throw rateLimited(verdict);
    },
  };
}

import type { FastifyRequest } from 'fastify';
import type { Limiter } from '../../../platform/limiter/limiter.ts';
import { PageError } from '../../../platform/web/page-error.ts';
import { networkOf } from './network.ts';

/**
 * Whatever strangers can ask for that costs a slow hash or a row, counted by address over all accounts.
 * Wide enough for the many people who share the address of a mobile network.
 */
const rules = {
  'sign-in': { limit: 120, windowMs: 60_000 },
  'sign-up': { limit: 10, windowMs: 60_000 },
} as const;

export async function keepPace(limiter: Limiter, what: keyof typeof rules, request: FastifyRequest): Promise<void> {
  const { allowed, resetSeconds } = await limiter.take(`${what}:${networkOf(request.ip)}`, rules[what]);
  if (!allowed) throw new PageError(429, { headers: { 'retry-after': String(resetSeconds) } });
}

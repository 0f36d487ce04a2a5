import type { Limiter } from '../../platform/limiter/limiter.ts';
import { PageError } from '../../platform/web/page-error.ts';

/** To read and to compile all that a form may hold takes some 30 ms. A change of anything compiles all rules anew. */
const changeLimit = { limit: 30, windowMs: 60_000 };

/** For every form that changes the rules of a creator. */
export async function countChange(limiter: Limiter, creatorId: string, cost = 1): Promise<void> {
  const { allowed, resetSeconds } = await limiter.take(`screening:${creatorId}`, changeLimit, cost);
  if (!allowed) throw new PageError(429, { headers: { 'retry-after': String(resetSeconds) } });
}

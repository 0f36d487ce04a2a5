import type { Limiter } from '../../platform/limiter/limiter.ts';
import { limitPage } from '../../platform/web/page-limit.ts';

/** To read and to compile all that a form may hold takes some 30 ms. A change of anything compiles all rules anew. */
const changeLimit = { limit: 30, windowMs: 60_000 };

/** For every form that changes the rules of a creator. */
export async function countChange(limiter: Limiter, creatorId: string, cost = 1): Promise<void> {
  await limitPage(limiter, `screening:${creatorId}`, changeLimit, cost);
}

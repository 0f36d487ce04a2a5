import type { Limiter, LimitRule } from '../limiter/limiter.ts';
import { PageError } from './page-error.ts';

/** Counts a request of a page as `cost` requests of the key. Throws a 429 page if that is above the limit. */
export async function limitPage(
  limiter: Pick<Limiter, 'take'>,
  key: string,
  rule: LimitRule,
  cost?: number,
): Promise<void> {
  const { allowed, resetSeconds } = await limiter.take(key, rule, cost);
  if (!allowed) throw new PageError(429, { headers: { 'retry-after': String(resetSeconds) } });
}

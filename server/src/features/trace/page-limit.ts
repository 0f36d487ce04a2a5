import type { Limiter } from '../../platform/limiter/limiter.ts';
import { PageError } from '../../platform/web/page-error.ts';

/** Of one account, for all pages with a trace. As often as an app may read one by the API. */
const pageLimit = { limit: 120, windowMs: 60_000 };

/** Counts a page with a trace: it can have hundreds of rows. */
export async function countTracePage(limiter: Limiter, accountId: string): Promise<void> {
  const { allowed, resetSeconds } = await limiter.take(`trace-page:${accountId}`, pageLimit);
  if (!allowed) throw new PageError(429, { headers: { 'retry-after': String(resetSeconds) } });
}

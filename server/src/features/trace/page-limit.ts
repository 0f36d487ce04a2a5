import type { Limiter } from '../../platform/limiter/limiter.ts';
import { limitPage } from '../../platform/web/page-limit.ts';

/** Of one account, for all pages with a trace. As often as an app may read one by the API. */
const pageLimit = { limit: 120, windowMs: 60_000 };

/** Counts a page with a trace: it can have hundreds of rows. */
export async function countTracePage(limiter: Limiter, accountId: string): Promise<void> {
  await limitPage(limiter, `trace-page:${accountId}`, pageLimit);
}

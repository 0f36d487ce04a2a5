import type { Limiter } from '../../platform/limiter/limiter.ts';
import { limitPage } from '../../platform/web/page-limit.ts';

/** Of one creator, for all apps. Each can leave a family, which is kept for months. */
const consentLimit = { limit: 600, windowMs: 3_600_000 };

/** Counts an approval of an app or a device. */
export async function countConsent(limiter: Pick<Limiter, 'take'>, creatorId: string): Promise<void> {
  await limitPage(limiter, `consent:${creatorId}`, consentLimit);
}

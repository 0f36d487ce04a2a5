import type { Limiter } from '../../platform/limiter/limiter.ts';
import { PageError } from '../../platform/web/page-error.ts';

/** Of one creator, for all apps. Each can leave a family, which is kept for months. */
const consentLimit = { limit: 600, windowMs: 3_600_000 };

/** Counts an approval of an app or a device. */
export async function countConsent({ take }: Pick<Limiter, 'take'>, creatorId: string): Promise<void> {
  const { allowed, resetSeconds } = await take(`consent:${creatorId}`, consentLimit);
  if (!allowed) throw new PageError(429, { headers: { 'retry-after': String(resetSeconds) } });
}

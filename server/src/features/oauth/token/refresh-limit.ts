/**
 * How often an app refreshes for one creator. Each refresh leaves a row for 30 days, so a program that refreshes in a loop
 * would fill the disk.
 *
 * - Only tokens that are younger than the window count: an older one cannot be part of a loop. So a program that refreshes
 *   when its access token ends is never looked up.
 * - Of the young ones every eighth, by its key, is looked up and counts as eight. A loop cannot avoid it, because each
 *   token comes from the refresh before, and all others are as quick as before.
 * - A refused token stays good. A used one is never refused here: what its reuse means is decided at once.
 */
import { timeText } from '../../../platform/ids.ts';
import { tooManyRequests } from './errors.ts';
import type { TokenParts } from './grant-type.ts';
import { unusedRefreshToken } from './repo.ts';

const every = 8;
const rule = { limit: 8 * every, windowMs: 60_000 };

type Parts = Pick<TokenParts, 'db' | 'clock' | 'limiter'>;

const limiterKey = (clientId: string, creatorId: string): string => `refresh:${clientId}:${creatorId}`;

/** A character of the hash in the key, in base64url: an eighth of its 64 have such a code. The last one has fewer bits. */
const isCounted = ({ clock }: Pick<Parts, 'clock'>, key: string): boolean =>
  key.charCodeAt(key.length - 2) % every === 0 && key >= timeText(clock() - rule.windowMs);

/** Throws if the app has refreshed too often for the creator of this token. */
export async function checkRefreshLimit(parts: Parts, key: string, clientId: string): Promise<void> {
  if (!isCounted(parts, key)) return;
  const token = await unusedRefreshToken(parts.db, key);
  if (!token) return;
  const { remaining, resetSeconds } = await parts.limiter.take(limiterKey(clientId, token.creator_id), rule, 0);
  if (remaining === 0) throw tooManyRequests(resetSeconds, 'Refreshed too often. An access token lasts longer.');
}

/** This token was rotated. */
export async function countRefresh(parts: Parts, key: string, clientId: string, creatorId: string): Promise<void> {
  if (isCounted(parts, key)) await parts.limiter.take(limiterKey(clientId, creatorId), rule, every);
}

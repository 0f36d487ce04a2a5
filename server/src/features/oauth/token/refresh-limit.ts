import { setNewest } from '../../../platform/lru-map.ts';
import type { Platform } from '../../../platform/platform.ts';
import type { RefreshTokenRow } from './repo.ts';

/** Who may refresh a token, and for whom that counts. */
export interface Counted {
  readonly clientId: string;
  readonly countedFor: string;
}

const mostRefreshes = 6000;
const hour = 3600;
const maxRemembered = 10_000;

export type RefreshLimit = ReturnType<typeof createRefreshLimit>;

/**
 * An app refreshes each family once in the life of an access token, so the limit is far above what even a hundred devices
 * need. It bounds the rotated tokens, which are kept for 30 days: 144,000 a day of one app and creator at the usual life.
 *
 * The database says for whom a refresh counts. For the newest tokens the answer is cached, so that an app that refreshes
 * often causes no reads.
 */
export function createRefreshLimit(limiter: Platform['limiter'], accessTokenSeconds: number) {
  const rule = { limit: mostRefreshes, windowMs: Math.min(accessTokenSeconds, hour) * 1000 };
  /** By the key of a refresh token that was not used yet. */
  const remembered = new Map<string, Counted>();

  return {
    remember(key: string, counted: Counted): void {
      setNewest(remembered, key, counted, maxRemembered);
    },

    /** Once: a token that is shown again may be a used one. */
    recall(key: string): Counted | undefined {
      const counted = remembered.get(key);
      remembered.delete(key);
      return counted;
    },

    take: (countedFor: string) => limiter.take(countedFor, rule),
  };
}

/**
 * The app and the creator. A developer can connect any number of apps with the own account and with sandbox creators, so
 * all of these count as one.
 */
export function countedFor({ client_id, creator_id, sandbox_of, app_owner_id }: RefreshTokenRow): string {
  const owner = sandbox_of ?? creator_id;
  return app_owner_id === owner ? `refresh:${owner}` : `refresh:${client_id}:${creator_id}`;
}

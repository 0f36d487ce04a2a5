import type { LimitRule } from '../../platform/limiter/limiter.ts';

interface LimitGroupRow extends LimitRule {
  /** The requests that share one count, for each app and creator. */
  readonly counts: string;
}

/** The spec's limits. They cannot be configured. */
export const limits = {
  read: { limit: 120, windowMs: 60_000, counts: 'every GET with an access token' },
  tips: { limit: 10, windowMs: 60_000, counts: 'POST /v1/tips' },
  alerts: { limit: 30, windowMs: 60_000, counts: 'POST /v1/alerts' },
} as const satisfies Record<string, LimitGroupRow>;

export type LimitGroup = keyof typeof limits;

const groups = Object.keys(limits) as LimitGroup[];

/** The limiter's key of each group, for one app and creator. */
export const limitKeysOf = (clientId: string, creatorId: string): Readonly<Record<LimitGroup, string>> =>
  Object.fromEntries(groups.map((group) => [group, `${clientId}:${creatorId}:${group}`])) as Record<LimitGroup, string>;

/** The header `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers). */
export function limitPolicy(group: LimitGroup): string {
  const { limit, windowMs } = limits[group];
  return `"${group}";q=${limit};w=${windowMs / 1000}`;
}

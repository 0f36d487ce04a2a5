import type { FastifyReply } from 'fastify';
import { ApiError } from '../../errors.ts';
import type { LimitRule, LimitVerdict } from '../../platform/limiter/limiter.ts';

interface LimitGroupRow extends LimitRule {
  /** The requests that share one count. */
  readonly counts: string;
  /** For whom there is one count. */
  readonly per: 'app and creator' | 'app';
}

const minute = { windowMs: 60_000 } as const;
const ofGrant = { ...minute, per: 'app and creator' } as const;
const ofApp = { ...minute, per: 'app' } as const;

/** The limits of the specification, and further ones of the same kind. They cannot be configured. */
export const limits = {
  read: { ...ofGrant, limit: 120, counts: 'every GET with an access token' },
  tips: { ...ofGrant, limit: 10, counts: 'POST /v1/tips' },
  voids: { ...ofGrant, limit: 10, counts: 'POST /v1/tips/{id}/void' },
  alerts: { ...ofGrant, limit: 30, counts: 'POST /v1/alerts' },
  manage: { ...ofApp, limit: 120, counts: 'every call of /v1/webhooks' },
  send: { ...ofApp, limit: 10, counts: 'of these: ping, retry and replay' },
} as const satisfies Record<string, LimitGroupRow>;

type LimitGroup = keyof typeof limits;
type GroupPer<Per> = { [Group in LimitGroup]: (typeof limits)[Group]['per'] extends Per ? Group : never }[LimitGroup];

/** Groups that are counted for each app and creator, and those of an app's calls with its own credentials. */
export type GrantLimitGroup = GroupPer<'app and creator'>;
export type AppLimitGroup = GroupPer<'app'>;

const grantGroups = Object.entries(limits)
  .filter(([, { per }]) => per === 'app and creator')
  .map(([group]) => group) as GrantLimitGroup[];

/** The limiter's key of each group, for one app and creator. */
export const limitKeysOf = (clientId: string, creatorId: string): Readonly<Record<GrantLimitGroup, string>> =>
  Object.fromEntries(grantGroups.map((group) => [group, `${clientId}:${creatorId}:${group}`])) as Record<
    GrantLimitGroup,
    string
  >;

/** The header `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers). */
export function limitPolicy(group: LimitGroup): string {
  const { limit, windowMs } = limits[group];
  return `"${group}";q=${limit};w=${windowMs / 1000}`;
}

const policies = Object.fromEntries(Object.keys(limits).map((group) => [group, limitPolicy(group as LimitGroup)]));

/** Tells the caller of the limit (draft-ietf-httpapi-ratelimit-headers), and refuses whoever is over it. */
export function checkLimit(reply: FastifyReply, group: LimitGroup, verdict: LimitVerdict): void {
  reply.header('ratelimit-policy', policies[group]);
  reply.header('ratelimit', `"${group}";r=${verdict.remaining};t=${verdict.resetSeconds}`);
  if (!verdict.allowed) throw rateLimited(verdict);
}

export const rateLimited = ({ resetSeconds }: LimitVerdict): ApiError =>
  new ApiError('rate_limited', { headers: { 'retry-after': String(resetSeconds) } });

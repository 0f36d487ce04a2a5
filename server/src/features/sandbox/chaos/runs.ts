import { noShares, type Shares } from './decide.ts';

/** The ready-made runs. What a good app does in each stands in words.ts. */
export const runs = {
  bad_evening: {
    ...noShares,
    rate_limited: 40,
    upstream_failed: 80,
    slow: 40,
    token_expired: 20,
    socket_drop: 30,
    webhook_twice: 100,
    webhook_late: 50,
  },
  mobile_network: { ...noShares, slow: 200, upstream_failed: 50, socket_drop: 200 },
  limits: { ...noShares, rate_limited: 300, slow: 20 },
  revoked_in_the_middle: { ...noShares, rate_limited: 20, upstream_failed: 20, revoked: 40 },
} as const satisfies Record<string, Shares>;

export type RunName = keyof typeof runs;

export const runNames = Object.keys(runs) as RunName[];

export const isRunName = (name: string): name is RunName => Object.hasOwn(runs, name);

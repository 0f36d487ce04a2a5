/** Which fault happens: a pure function, so that the same seed and the same calls give the same faults. */
import { createHash } from 'node:crypto';

/** What is counted: calls of the API, frames on a socket (its welcome and each event), deliveries of webhooks. */
export type Channel = 'call' | 'frame' | 'delivery';

/** Every kind of fault, in the order in which their shares are laid side by side. The order is part of the contract. */
export const kinds = {
  rate_limited: { channel: 'call' },
  upstream_failed: { channel: 'call' },
  slow: { channel: 'call' },
  token_expired: { channel: 'call' },
  socket_drop: { channel: 'frame' },
  webhook_twice: { channel: 'delivery' },
  webhook_late: { channel: 'delivery' },
  revoked: { channel: 'call' },
} as const satisfies Record<string, { readonly channel: Channel }>;

export type ChaosKind = keyof typeof kinds;

export const chaosKinds = Object.keys(kinds) as ChaosKind[];

/** The share of each kind, in thousandths, at most `fullShare` together. */
export type Shares = Readonly<Record<ChaosKind, number>>;

export const noShares = Object.fromEntries(chaosKinds.map((kind) => [kind, 0])) as Shares;

/** All shares together. */
export const fullShare = 1000;

export interface Draw {
  readonly kind: ChaosKind;
  /** 0 ≤ size < 1: what the kind leaves open, such as how slow. */
  readonly size: number;
}

/** Decides about the n-th call, frame or delivery. */
export function decide(seed: string, shares: Shares, channel: Channel, n: number): Draw | undefined {
  const digest = createHash('sha256')
    .update(JSON.stringify([seed, channel, n]))
    .digest();
  let point = fraction(digest, 0) * fullShare;
  for (const kind of chaosKinds) {
    point -= shares[kind];
    if (point < 0) return kinds[kind].channel === channel ? { kind, size: fraction(digest, 6) } : undefined;
  }
  return undefined;
}

const fraction = (digest: Buffer, at: number): number => digest.readUIntBE(at, 6) / 2 ** 48;

/** Of `upstream_failed`: half of them fail after the commit. */
export const isAfterCommit = ({ size }: Pick<Draw, 'size'>): boolean => size >= 0.5;

/** Of `slow`: up to three seconds. */
export const slowMs = ({ size }: Pick<Draw, 'size'>): number => 500 + Math.round(size * 2500);

/** Of `rate_limited`: the seconds to wait, as sent in `Retry-After`. */
export const retrySeconds = ({ size }: Pick<Draw, 'size'>): number => 1 + Math.floor(size * 3);

/** Of `webhook_late`. */
export const lateMs = ({ size }: Pick<Draw, 'size'>): number => 5_000 + Math.round(size * 25_000);

import { networkOf } from '../../../platform/addresses.ts';
import type { LimitRule, LimitVerdict } from '../../../platform/limiter/limiter.ts';
import type { Platform } from '../../../platform/platform.ts';
import { hashSecret, newSecret } from '../../../platform/secrets.ts';
import { formatScopes, type Scope } from '../scopes.ts';
import * as repo from './repo.ts';
import { newUserCode, readUserCode } from './user-code.ts';

export interface DevicesParts extends Pick<Platform, 'db' | 'clock' | 'vault' | 'limiter'> {
  readonly authUrl: string;
}

export type Devices = ReturnType<typeof createDevices>;

/** The contract's limits. */
const limits = {
  requestsOfAddress: { limit: 10, windowMs: 60_000 },
  wrongOfAccount: { limit: 5, windowMs: 600_000 },
  wrongOfAddress: { limit: 20, windowMs: 600_000 },
} satisfies Record<string, LimitRule>;

const lifeMs = 600_000;
/** For this long a device is told that its code has expired; then the code is unknown. */
const retentionMs = 3_600_000;
const deleteBatch = 500;

export type Lookup =
  | { readonly device: repo.DeviceRow; readonly userCode: string }
  | { readonly refused: 'wrong' }
  | { readonly refused: 'throttled'; readonly retryAfterSeconds: number };

/** Devices that wait for the approval of a creator (RFC 8628). */
export function createDevices({ db, clock, vault, limiter, authUrl }: DevicesParts) {
  const purpose = 'device user code';

  /** Also a code that was issued before SECRET_KEY was replaced. */
  async function deviceByUserCode(code: string): Promise<repo.DeviceRow | undefined> {
    for (const mac of vault.signatures(purpose, code)) {
      const device = await repo.deviceByUserCode(db, mac.toString('base64url'));
      if (device) return device;
    }
    return undefined;
  }

  async function insert(request: { clientId: string; scope: string; address: string }, deviceCode: string) {
    const now = clock();
    for (;;) {
      const userCode = newUserCode();
      const device = {
        hash: hashSecret(deviceCode),
        user_code_hash: vault.sign(purpose, userCode).toString('base64url'),
        client_id: request.clientId,
        scope: request.scope,
        address: request.address,
        created_at: now,
        expires_at: now + lifeMs,
      };
      if (await db.write(repo.writes.insertDevice, device)) return userCode;
    }
  }

  const guesses = (creatorId: string, address: string) =>
    [
      [`device-code:${creatorId}`, limits.wrongOfAccount],
      [`device-code:${networkOf(address)}`, limits.wrongOfAddress],
    ] as const;

  return {
    /** Whether this address may begin another request. */
    takeRequest: async (address: string): Promise<LimitVerdict> =>
      limiter.take(`device-request:${networkOf(address)}`, limits.requestsOfAddress),

    async begin(clientId: string, scopes: readonly Scope[], address: string) {
      const deviceCode = newSecret('njd');
      const userCode = await insert({ clientId, scope: formatScopes(scopes), address }, deviceCode);
      return {
        device_code: deviceCode,
        user_code: userCode,
        verification_uri: `${authUrl}/device`,
        verification_uri_complete: `${authUrl}/device?user_code=${userCode}`,
        expires_in: lifeMs / 1000,
        interval: pollSeconds,
      };
    },

    /**
     * Finds the request that waits under a code. Only wrong codes are counted, but a right one is refused too once too
     * many were wrong. The code is looked up first: of many guesses at once, the limiter orders the results, so that a
     * right one counts only if it comes before the last wrong one that is allowed.
     */
    async find(creatorId: string, address: string, typed: string): Promise<Lookup> {
      const userCode = readUserCode(typed);
      const device = userCode && (await deviceByUserCode(userCode));
      const waits = device && device.decision === null && device.expires_at > clock();
      for (const [key, rule] of guesses(creatorId, address)) {
        const { allowed, remaining, resetSeconds } = await limiter.take(key, rule, waits ? 0 : 1);
        if (!allowed || (waits && remaining === 0)) return { refused: 'throttled', retryAfterSeconds: resetSeconds };
      }
      return waits ? { device, userCode } : { refused: 'wrong' };
    },

    /** Returns false if somebody has decided before, or the code has expired. */
    deny: (creatorId: string, hash: string): Promise<boolean> =>
      db.write(repo.writes.denyDevice, hash, creatorId, clock()),

    async prune(): Promise<void> {
      const before = clock() - retentionMs;
      while ((await db.write(repo.writes.deleteDevicesBefore, before, deleteBatch)) > 0);
    },
  };
}

/** The interval of polls, at first. */
const pollSeconds = 5;
const slowDowns = { limit: 120, windowMs: lifeMs } satisfies LimitRule;

/**
 * Whether a device polls sooner than its interval after its last poll. The interval then grows by five seconds (RFC 8628,
 * section 3.5). The limiter keeps it, over all nodes, so that waiting writes nothing to the database.
 */
export async function pollsTooSoon({ take }: Pick<Platform['limiter'], 'take'>, hash: string): Promise<boolean> {
  const poll = (slowed: number) =>
    take(`device-poll:${hash}:${slowed}`, { limit: 1, windowMs: pollSeconds * 1000 * (slowed + 1) });
  const { remaining } = await take(`device-slow:${hash}`, slowDowns, 0);
  const slowed = slowDowns.limit - remaining;
  if ((await poll(slowed)).allowed) return false;
  await take(`device-slow:${hash}`, slowDowns);
  await poll(slowed + 1);
  return true;
}

/**
 * Keeps guessing slow, for one account from one address.
 *
 * - A try is counted before the password is looked at, in one statement, so tries in parallel gain nothing.
 * - Ten are free, the next three wait before they are answered, then further tries are refused for a while that
 *   doubles up to a quarter of an hour. Signing in clears the count; a day without a try does too.
 * - It never locks the owner out for good: other addresses and passkeys are not affected, and the pause ends.
 * - The account is the name as typed, known or not.
 */
import ipaddr from 'ipaddr.js';
import type { Platform } from '../../../platform/platform.ts';
import { hashSecret } from '../../../platform/secrets.ts';
import * as repo from './repo.ts';

const pruneBatch = 500;

export type Throttle = ReturnType<typeof createThrottle>;

export function createThrottle({ db, clock, wait }: Pick<Platform, 'db' | 'clock' | 'wait'>) {
  const keyOf = (account: string, address: string) => hashSecret(`${account}\n${networkOf(address)}`);

  return {
    /** Counts a try, waits if it comes late in a row of them, and answers how many seconds to pause, 0 for none. */
    async enter(account: string, address: string): Promise<number> {
      const [key, now] = [keyOf(account, address), clock()];
      const verdict = await db.write(repo.writes.enter, key, now);
      if ('pauseMs' in verdict) return Math.max(1, Math.ceil(verdict.pauseMs / 1000));
      if (verdict.delayMs > 0) await wait(verdict.delayMs);
      return 0;
    },

    clear: (account: string, address: string) => db.write(repo.writes.forgetTries, keyOf(account, address)),
    async prune(): Promise<void> {
      while ((await db.write(repo.writes.forgetTriesBefore, clock() - repo.forgetMs, pruneBatch)) > 0);
    },
  };
}

/** A home has one IPv4 address but 2^64 IPv6 ones, so those count by their network. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv4'
    ? parsed.toString()
    : ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/64`).toString();
}

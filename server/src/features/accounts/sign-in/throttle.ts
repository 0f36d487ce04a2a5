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
import type { Clock, Wait } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/db/database.ts';
import { hashSecret } from '../../../platform/secrets.ts';
import * as repo from './repo.ts';

export interface ThrottleParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly wait: Wait;
}

export type Throttle = ReturnType<typeof createThrottle>;

const freeTries = 10;
const slowTries = 3;
const firstDelayMs = 1000;
const firstPauseMs = 30_000;
const longestPauseMs = 15 * 60_000;
const forgetMs = 24 * 3_600_000;

export function createThrottle({ db, clock, wait }: ThrottleParts) {
  const keyOf = (account: string, address: string) => hashSecret(`${account}\n${networkOf(address)}`);

  return {
    /** Counts a try, waits if it comes late in a row of them, and answers how many seconds to pause, 0 for none. */
    async enter(account: string, address: string): Promise<number> {
      const [key, now] = [keyOf(account, address), clock()];
      const verdict = await db.write(async (tx) => {
        const tries = await repo.countTry(tx, key, now, now - forgetMs);
        if (tries === undefined) return { pauseMs: (await repo.nextTryAt(tx, key)) - now };
        const delayMs = tries <= freeTries ? 0 : firstDelayMs * 2 ** Math.min(tries - freeTries - 1, slowTries - 1);
        const refusals = tries - freeTries - slowTries;
        if (refusals >= 0) await repo.setNextTry(tx, key, now + delayMs + pauseAfter(refusals));
        return { delayMs };
      });
      if (verdict.pauseMs !== undefined) return Math.max(1, Math.ceil(verdict.pauseMs / 1000));
      if (verdict.delayMs > 0) await wait(verdict.delayMs);
      return 0;
    },

    clear: (account: string, address: string) => db.write((tx) => repo.forgetTries(tx, keyOf(account, address))),
    prune: () => db.write((tx) => repo.forgetTriesBefore(tx, clock() - forgetMs)),
  };
}

const pauseAfter = (refusals: number): number => Math.min(firstPauseMs * 2 ** Math.min(refusals, 10), longestPauseMs);

/** A home has one IPv4 address but 2^64 IPv6 ones, so those count by their network. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv4'
    ? parsed.toString()
    : ipaddr.IPv6.networkAddressFromCIDR(`${parsed.toString()}/64`).toString();
}

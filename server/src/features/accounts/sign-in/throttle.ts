/**
 * Throttles password guesses for one account from one address.
 *
 * - An attempt is counted before the password is verified, and one upsert decides its number, so parallel attempts gain
 *   nothing. An attempt during a pause writes nothing.
 * - Ten attempts are free and the next three are delayed. Then attempts are refused for a pause that doubles up to 15
 *   minutes. A successful sign-in clears the count, and so does a day without an attempt.
 * - The owner is never locked out: other addresses and passkeys are not affected, and the pause ends.
 * - Unknown usernames are throttled like known ones.
 */
import { networkOf } from '../../../platform/addresses.ts';
import type { Platform } from '../../../platform/platform.ts';
import { hashSecret } from '../../../platform/secrets.ts';
import * as repo from './repo.ts';

const pruneBatch = 500;

export type Throttle = ReturnType<typeof createThrottle>;

export function createThrottle({ db, clock, wait }: Pick<Platform, 'db' | 'clock' | 'wait'>) {
  const keyOf = (account: string, address: string) => hashSecret(`${account}\n${networkOf(address)}`);

  return {
    /** Counts an attempt and delays it if there were many. Returns for how many seconds it is refused; 0 if it is not. */
    async enter(account: string, address: string): Promise<number> {
      const [key, now] = [keyOf(account, address), clock()];
      const pauseMs = (await repo.nextAttemptAt(db, key)) - now;
      const verdict = pauseMs > 0 ? { pauseMs } : await db.write(repo.writes.countAttempt, key, now);
      if ('pauseMs' in verdict) return Math.max(1, Math.ceil(verdict.pauseMs / 1000));
      if (verdict.delayMs > 0) await wait(verdict.delayMs);
      return 0;
    },

    clear: (account: string, address: string) => db.write(repo.writes.clearAttempts, keyOf(account, address)),
    async prune(): Promise<void> {
      while ((await db.write(repo.writes.deleteAttemptsBefore, clock() - repo.attemptsExpireMs, pruneBatch)) > 0);
    },
  };
}

import { type OAuthEndpoints, type TokenSet, TransientFailure } from './endpoints.ts';
import { OAuthError } from './errors.ts';
import { type RepeatOptions, repeat } from './repeat.ts';
import type { SealedStore } from './sealed-store.ts';

/**
 * One refresh of a connection, however many processes want it. A refresh token works once, and using a replaced one ends
 * the connection, so the order of things matters:
 *
 * 1. The refresh token and a new Idempotency-Key are stored before the request is sent, with a lease in the name of this
 *    process. Compare and set decides who holds the lease.
 * 2. The new pair is stored by compare and set before it is used. Who no longer holds the lease stores nothing.
 * 3. Whoever finds a refresh whose holder is gone repeats it with the stored key. The server then answers another pair
 *    in place of the lost one. So a process can end, or an answer get lost, at any point.
 *
 * When is a holder gone? No two clocks are compared: a process that wants the lease waits until it has itself seen the
 * same entry, unchanged, for LEASE times the length of a request. The holder renews the lease before each request, which
 * changes the entry, and sends nothing once half of the margin has passed. Only a lease that ran out ABANDONED_MS ago by
 * the wall clock is taken at once, for processes that do not live long enough to watch one.
 *
 * A request can still arrive late: the network, or a process that was stopped between its look at the clock and the
 * sending. It would replace the pair that was stored, whose refresh token must then never be used. So a pair that came
 * after an unanswered request is doubtful: the next refresh repeats the one that brought it, instead of using its refresh
 * token, and gets a pair that works in either case. The server allows repeats for 24 hours.
 */

/** What the store holds of a creator. */
export interface Connection extends Omit<TokenSet, 'creatorId'> {
  readonly refresh: PendingRefresh | null;
  /** The refresh that brought this pair, if an earlier request of it may still reach the server. */
  readonly doubtful: RefreshRequest | null;
  /** When the server said that the connection has ended. */
  readonly endedAt: number | null;
}

/** What is sent: the same again gets another pair, as long as the pair that it replaces is unused. */
interface RefreshRequest {
  readonly refreshToken: string;
  /** The `Idempotency-Key`. */
  readonly key: string;
  readonly since: number;
}

interface PendingRefresh extends RefreshRequest {
  /** Who is sending it; `null`: nobody, the next process may. */
  readonly holder: string | null;
  readonly leasedAt: number;
  readonly leaseMs: number;
  /** Whether a request of it went unanswered. */
  readonly unanswered: boolean;
}

export interface RefreshOptions extends RepeatOptions {
  readonly sealed: SealedStore;
  readonly endpoints: OAuthEndpoints;
  readonly timeoutMs: number;
  readonly now: () => number;
}

export interface Entry {
  readonly name: string;
  readonly raw: string;
  readonly connection: Connection;
}

/** `overtaken`: the entry has changed; read it again. */
type Outcome = TokenSet | 'ended' | 'overtaken';

const LEASE = 1.5;
const ABANDONED_MS = 60_000;
const MAX_RENEWALS = 3;
const REPEATABLE_MS = 20 * 3_600_000;

export function createRefresh(options: RefreshOptions) {
  const { sealed, endpoints, timeoutMs, now } = options;
  const leaseMs = LEASE * timeoutMs;
  const sendWithinMs = (leaseMs - timeoutMs) / 2;

  /** Time that has passed. One clock stands still while the machine sleeps, the other can be set back. */
  function stopwatch(): () => number {
    const [wall, steady] = [Date.now(), performance.now()];
    return () => Math.max(Date.now() - wall, performance.now() - steady);
  }

  /** What to send: a refresh under way, the one that brought a doubtful pair, or a new one. */
  function requestOf({ refresh, doubtful, refreshToken }: Connection): RefreshRequest {
    if (refresh) return refresh;
    if (doubtful && now() - doubtful.since < REPEATABLE_MS) return doubtful;
    return { refreshToken, key: crypto.randomUUID(), since: now() };
  }

  async function run({ name, raw: found, connection }: Entry): Promise<Outcome> {
    const { refreshToken, key, since } = requestOf(connection);
    const holder = crypto.randomUUID();
    let raw = found;
    // The request of a holder who did not give the lease back is unanswered.
    let unanswered =
      connection.refresh !== null && (connection.refresh.unanswered || connection.refresh.holder !== null);

    const store = async (next: Connection): Promise<boolean> => {
      const stored = await sealed.write(name, next, raw);
      raw = stored ?? raw;
      return stored !== undefined;
    };
    const pending = (by: string | null): PendingRefresh => {
      return { refreshToken, key, since, holder: by, leasedAt: Date.now(), leaseMs, unanswered };
    };

    async function attempt(): Promise<TokenSet | 'overtaken'> {
      for (let renewals = 0; ; renewals += 1) {
        const elapsed = stopwatch();
        if (!(await store({ ...connection, refresh: pending(holder) }))) return 'overtaken';
        if (elapsed() < sendWithinMs) break;
        if (renewals >= MAX_RENEWALS) throw new OAuthError('store_failed', 'The store takes too long to write.');
      }
      try {
        const fields = { grant_type: 'refresh_token', refresh_token: refreshToken };
        return await endpoints.token(fields, { 'idempotency-key': key });
      } catch (failure) {
        if (failure instanceof TransientFailure) unanswered ||= failure.unanswered;
        throw failure;
      }
    }

    try {
      const tokens = await repeat(options, attempt);
      if (tokens === 'overtaken') return tokens;
      const { creatorId: _, ...pair } = tokens;
      const doubtful = unanswered ? { refreshToken, key, since } : null;
      return (await store({ ...pair, refresh: null, doubtful, endedAt: null })) ? tokens : 'overtaken';
    } catch (error) {
      if (error instanceof OAuthError && error.code === 'invalid_grant')
        return (await store({ ...connection, refresh: pending(null), endedAt: now() })) ? 'ended' : 'overtaken';
      // Gives the lease back. If that fails too, it runs out.
      await store({ ...connection, refresh: pending(null) }).catch(() => false);
      throw error;
    }
  }

  /** Watches one entry while it is polled. */
  function watchLease() {
    let seen: string | undefined;
    let elapsed = stopwatch();
    return {
      mayTake({ raw, connection: { refresh } }: Entry): boolean {
        if (refresh === null || refresh.holder === null) return true;
        if (raw !== seen) {
          seen = raw;
          elapsed = stopwatch();
        }
        return elapsed() > refresh.leaseMs || Date.now() - refresh.leasedAt > refresh.leaseMs + ABANDONED_MS;
      },
    };
  }

  return { run, watchLease };
}

/**
 * The slots of one key on this node, kept in step with Redis. Invariants:
 *
 * - One script does everything: it records how many slots this node holds, grants as many of the wanted ones as the
 *   other nodes leave, and renews the lease. Counts are absolute, never changes, so the next call corrects whatever a
 *   lost call or reply left wrong.
 * - A key has one call under way at a time, so the latest count wins. All callers that wait for a slot are served by
 *   one call.
 * - A granted slot is in Redis before this node counts it; a released slot leaves this node's count before it leaves
 *   Redis. So the count in Redis may be too high for a moment, never too low.
 * - A client that closes on one node and opens on another can arrive before its old slot is free. So no caller is
 *   refused at once: Redis is asked again until the caller's wait is over.
 * - While Redis is away, slow or failing, this node decides by its own count. No connection loses its slot. What is held
 *   is recorded as soon as Redis is back, and nobody is granted a slot until fewer than `max` are held over all nodes.
 */
import type { RedisScript } from './redis-script.ts';

const maxWaitMs = 500;
const retryMs = 50;

// An expiry further away than a whole lease was written before the clock was set back; the script drops it too.
export const acquireScript = `
local key, node, max, held, wanted, lease =
  KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local free = max - held
local entries = redis.call('HGETALL', key)
for i = 1, #entries, 2 do
  if entries[i] ~= node then
    local count, expires = string.match(entries[i + 1], '^(%d+) (%d+)$')
    if tonumber(expires) <= now or tonumber(expires) > now + lease then
      redis.call('HDEL', key, entries[i])
    else
      free = free - count
    end
  end
end
local granted = math.max(0, math.min(wanted, free))
if held + granted > 0 then
  redis.call('HSET', key, node, string.format('%d %.0f', held + granted, now + lease))
  redis.call('PEXPIRE', key, lease)
else
  redis.call('HDEL', key, node)
end
return granted
`;

interface Waiter {
  readonly until: number;
  readonly resolve: (granted: boolean) => void;
}

/** What all keys of a node share. */
interface Shared {
  readonly node: string;
  readonly script: RedisScript;
  readonly leaseMs: number;
  readonly onFallback: () => void;
  /** Called when a key need no longer be kept. */
  readonly onIdle: (key: RedisSlotKey) => void;
}

export class RedisSlotKey {
  readonly key: string;
  /** The calls to Redis under way, if any. */
  syncing: Promise<void> | undefined;
  readonly #max: number;
  readonly #shared: Shared;
  /** Slots held on this node. */
  #held = 0;
  /** The count that Redis has for this node; undefined when it is not known. */
  #recorded: number | undefined = 0;
  #calledAt = Number.NEGATIVE_INFINITY;
  /** First come, first served. */
  readonly #waiters: Waiter[] = [];
  #syncAgain = false;
  #retryTimer: NodeJS.Timeout | undefined;

  constructor(key: string, max: number, shared: Shared) {
    this.key = key;
    this.#max = max;
    this.#shared = shared;
  }

  acquire(): boolean | Promise<boolean> {
    if (!this.#shared.script.isAvailable) return this.#acquireLocally();
    return new Promise((resolve) => {
      this.#waiters.push({ until: performance.now() + maxWaitMs, resolve });
      void this.sync();
    });
  }

  release(): void {
    if (this.#held === 0) return;
    this.#held -= 1;
    void this.sync();
  }

  forgetRecorded(): void {
    this.#recorded = undefined;
  }

  /** No slot is held, and Redis counts none for this node: none was recorded, or the lease has expired. */
  get isIdle(): boolean {
    if (this.#held > 0 || this.#waiters.length > 0 || this.syncing) return false;
    return this.#recorded === 0 || performance.now() - this.#calledAt > this.#shared.leaseMs;
  }

  get needsSync(): boolean {
    return this.#held !== this.#recorded || performance.now() - this.#calledAt >= this.#shared.leaseMs / 3;
  }

  /** Calls Redis now, or once more after the call that is under way. */
  sync(): Promise<void> {
    this.#syncAgain = true;
    this.syncing ??= (async () => {
      while (this.#syncAgain) {
        this.#syncAgain = false;
        await this.#call();
      }
      this.syncing = undefined;
      if (this.isIdle) this.#shared.onIdle(this);
    })();
    return this.syncing;
  }

  async #call(): Promise<void> {
    clearTimeout(this.#retryTimer);
    const { node, script, leaseMs } = this.#shared;
    const held = this.#held;
    const wanted = this.#waiters.length;
    try {
      if (!script.isAvailable) throw new Error('Redis is away');
      this.#calledAt = performance.now();
      // The key's name stays: nodes of an earlier version count there too during a rolling update.
      const reply = await script.run([`namjai:places:{${this.key}}`], [node, this.#max, held, wanted, leaseMs]);
      const granted = Number(reply);
      this.#recorded = held + granted;
      this.#held += granted;
      for (const { resolve } of this.#waiters.splice(0, granted)) resolve(true);
      this.#refuseOverdue(wanted - granted);
    } catch {
      this.#recorded = undefined;
      for (const { resolve } of this.#waiters.splice(0)) resolve(this.#acquireLocally());
    }
  }

  /** Refuses those of the first `asked` waiters whose wait is over, and asks again later for the others. */
  #refuseOverdue(asked: number): void {
    const now = performance.now();
    const patient = this.#waiters.slice(0, asked).findIndex(({ until }) => until > now);
    for (const { resolve } of this.#waiters.splice(0, patient === -1 ? asked : patient)) resolve(false);
    if (this.#waiters.length > 0) this.#retryTimer = setTimeout(() => void this.sync(), retryMs);
  }

  #acquireLocally(): boolean {
    this.#shared.onFallback();
    if (this.#held >= this.#max) return false;
    this.#held += 1;
    return true;
  }
}

/**
 * Connection slots over many nodes. Invariants:
 *
 * - Redis has one hash for each key, `node → count, end of the lease`, on the Redis server's clock. A node renews its
 *   leases; the entry of a node that died expires.
 * - A key is kept in memory only while this node holds one of its slots, or Redis may still count one for this node.
 * - When Redis comes back, every key is recorded anew: Redis may have lost everything.
 *
 * `RedisSlotKey` states the invariants of one key.
 */
import { randomUUID } from 'node:crypto';
import type { ConnectionSlots } from './limiter.ts';
import { createRedisScript, type ScriptClient } from './redis-script.ts';
import { acquireScript, RedisSlotKey } from './redis-slot-key.ts';

const callTimeoutMs = 1_000;
/** How many keys are renewed concurrently. */
const renewConcurrency = 32;

export interface SlotsClient extends ScriptClient {
  on(event: 'ready', listener: () => void): unknown;
  off(event: 'ready', listener: () => void): unknown;
}

export interface RedisSlotsOptions {
  readonly client: SlotsClient;
  /** Called for each slot that was granted or refused by this node's own count. */
  readonly onFallback: () => void;
  readonly leaseMs?: number | undefined;
}

export interface RedisSlots extends ConnectionSlots {
  /** How many keys are kept in memory. */
  keyCount(): number;
  /** Waits for the calls to Redis that are under way. */
  close(): Promise<void>;
}

export function createRedisSlots({ client, onFallback, leaseMs = 15_000 }: RedisSlotsOptions): RedisSlots {
  const script = createRedisScript(client, acquireScript, callTimeoutMs);
  const keys = new Map<string, RedisSlotKey>();
  const onIdle = ({ key }: RedisSlotKey) => keys.delete(key);
  const shared = { node: randomUUID(), script, leaseMs, onFallback, onIdle };
  let timer: NodeJS.Timeout | undefined;
  let renewing = false;

  function slotsOf(key: string, max: number): RedisSlotKey {
    const known = keys.get(key);
    if (known) return known;
    const slots = new RedisSlotKey(key, max, shared);
    keys.set(key, slots);
    timer ??= setInterval(renew, leaseMs / 15).unref();
    return slots;
  }

  async function renew(): Promise<void> {
    if (renewing) return;
    renewing = true;
    const remaining = keys.values();
    const work = async () => {
      for (const slots of remaining) {
        if (slots.isIdle) onIdle(slots);
        else if (script.isAvailable && slots.needsSync) await slots.sync();
      }
    };
    await Promise.all(Array.from({ length: renewConcurrency }, work));
    renewing = false;
    if (keys.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  function recordAgain(): void {
    for (const slots of keys.values()) slots.forgetRecorded();
    void renew();
  }
  client.on('ready', recordAgain);

  return {
    acquire: (key, max) => slotsOf(key, max).acquire(),
    release: (key) => keys.get(key)?.release(),
    keyCount: () => keys.size,
    async close() {
      client.off('ready', recordAgain);
      clearInterval(timer);
      await Promise.all([...keys.values()].map(({ syncing }) => syncing));
    },
  };
}

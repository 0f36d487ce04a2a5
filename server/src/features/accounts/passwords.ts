import { randomBytes } from 'node:crypto';
import { availableParallelism } from 'node:os';
import * as argon2 from '@node-rs/argon2';
import { Gauge, type Registry } from 'prom-client';
import { networkOf } from '../../platform/addresses.ts';
import type { Wait } from '../../platform/clock.ts';
import { createWorkQueue, QueueFull } from '../../platform/work-queue.ts';

/**
 * So many at a time that a core is left for the event loop: a hash takes a core for 40 ms, on a thread of the pool. A
 * hundred wait for four seconds at most. As the queue takes turns between addresses, somebody at an address of their own
 * signs in within half of that although fifty others guess as fast as they can. Passkeys need no hash and never wait here.
 */
const queueOptions = { atOnce: availableParallelism() > 2 ? 2 : 1, maxWaiting: 100 };

/**
 * Whoever is refused hears of it after this time, give or take half of it. Else a hundred connections that ask again at
 * once keep the event loop busy with refusals alone: each costs as much as ten calls of the API.
 */
const refuseAfterMs = 1_000;

export type Passwords = ReturnType<typeof createPasswords>;

/**
 * Hashes of passwords, for whoever asks: an address, or an account that has signed in. Both functions reject with
 * `QueueFull` while too many wait. A test counts the calls of the library.
 */
export function createPasswords(
  { registry, wait }: { readonly registry?: Registry; readonly wait: Wait },
  { hash, verify } = argon2,
) {
  const queue = createWorkQueue(queueOptions);
  async function run<T>(asker: string, task: () => Promise<T>): Promise<T> {
    try {
      return await queue.run(networkOf(asker), task);
    } catch (error) {
      if (error instanceof QueueFull) await wait(Math.round(refuseAfterMs * (0.5 + Math.random())));
      throw error;
    }
  }
  if (registry)
    new Gauge({
      name: 'namjai_password_hashes_waiting',
      help: 'Passwords that wait to be hashed; a hundred is the most',
      registers: [registry],
      collect() {
        this.set(queue.waiting);
      },
    });
  /** Verified for an unknown username, so that both cases take the same time. */
  let unknownCreatorHash: string | undefined;

  return {
    hash: (asker: string, password: string): Promise<string> => run(asker, () => hash(password)),

    /** Without a hash the result is false, after the same time. */
    verify: (asker: string, passwordHash: string | undefined, password: string): Promise<boolean> =>
      run(asker, async () => {
        unknownCreatorHash ??= await hash(randomBytes(32));
        return (await verify(passwordHash ?? unknownCreatorHash, password)) && passwordHash !== undefined;
      }),
  };
}

import { randomBytes } from 'node:crypto';
import { hash, verify } from '@node-rs/argon2';
import { createWorkQueue } from '../../platform/work-queue.ts';

/**
 * Two at a time: a hash takes a thread of the pool in which signatures are verified too, and the pool has four. Twenty
 * wait for about half a second.
 */
const queueOptions = { atOnce: 2, maxWaiting: 20 };

export type Passwords = ReturnType<typeof createPasswords>;

/** Hashes of passwords, for whoever asks. Both functions reject with `QueueFull` while too many wait. */
export function createPasswords() {
  const queue = createWorkQueue(queueOptions);
  /** Verified for an unknown username, so that both cases take the same time. */
  let unknownCreatorHash: string | undefined;

  return {
    hash: (password: string): Promise<string> => queue.run(() => hash(password)),

    /** Without a hash the result is false, after the same time. */
    verify: (passwordHash: string | undefined, password: string): Promise<boolean> =>
      queue.run(async () => {
        unknownCreatorHash ??= await hash(randomBytes(32));
        return (await verify(passwordHash ?? unknownCreatorHash, password)) && passwordHash !== undefined;
      }),
  };
}

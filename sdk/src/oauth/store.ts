/**
 * Where `createOAuth` keeps connections and pending sign-ins: three functions over any database. Values are encrypted
 * before they get here. `storeConformance` of `@namjai/sdk/testing` checks an implementation.
 */
export interface Store {
  /** The value, or `null` if there is none. Sees every write that has finished, of all processes. */
  read(key: string): Promise<string | null>;
  /**
   * Compare and set: stores `value` if the stored value is still `expected` (`null`: there is none), and answers whether
   * it did. Comparing and storing must be one atomic step over all processes, and durable before it answers.
   */
  write(key: string, value: string, expected: string | null): Promise<boolean>;
  /** Removes the key, whatever its value. */
  remove(key: string): Promise<void>;
}

/** Begins the keys of sign-ins that may never be finished: entries older than an hour can be deleted. */
export const SESSION_PREFIX = 'session/';

/** For tests and for apps of one process that may forget everything when it ends. */
export function memoryStore(): Store {
  const entries = new Map<string, string>();
  return {
    read: async (key) => entries.get(key) ?? null,
    write: async (key, value, expected) => compareAndSet(entries, key, value, expected),
    remove: async (key) => {
      entries.delete(key);
    },
  };
}

/** More than this many abandoned sign-ins are not kept: anybody can begin one. */
const MAX_SESSIONS = 1000;

/** A key that is written moves to the end, so the order is that of the last writes. */
export function compareAndSet(
  entries: Map<string, string>,
  key: string,
  value: string,
  expected: string | null,
): boolean {
  if ((entries.get(key) ?? null) !== expected) return false;
  entries.delete(key);
  entries.set(key, value);
  if (key.startsWith(SESSION_PREFIX)) {
    const sessions = [...entries.keys()].filter((each) => each.startsWith(SESSION_PREFIX));
    for (const old of sessions.slice(0, -MAX_SESSIONS)) entries.delete(old);
  }
  return true;
}

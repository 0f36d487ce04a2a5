/**
 * Which events were handled before. A delivery comes at least once: the same event comes again when an answer got lost.
 * An id is added after its handler has succeeded, so a crash in between has the event delivered, and handled, again.
 */
export type SeenStore = {
  has(id: string): boolean | Promise<boolean>;
  add(id: string): void | Promise<void>;
};

/** The last `limit` ids, in this process. */
export function rememberSeen(limit: number): SeenStore {
  const ids = new Set<string>();
  return {
    has: (id) => ids.has(id),
    add(id) {
      ids.add(id);
      // A set keeps the order of insertion.
      if (ids.size > limit) for (const oldest of ids) return void ids.delete(oldest);
    },
  };
}

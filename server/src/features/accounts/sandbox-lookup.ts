import type { Reader } from '../../platform/db/database.ts';
import { creatorById } from './repo.ts';

const maxCached = 10_000;

/**
 * Finds the developer's account of a sandbox creator; `null` for a real creator, and for one that does not exist. It
 * is set when the creator is made and never changes, so it is cached for good, whatever the engine.
 */
export function createSandboxLookup(db: Reader) {
  const cache = new Map<string, string | null>();
  return async (creatorId: string): Promise<string | null> => {
    const cached = cache.get(creatorId);
    if (cached !== undefined) return cached;
    const creator = await creatorById(db, creatorId);
    if (!creator) return null;
    if (cache.size >= maxCached) cache.clear();
    cache.set(creatorId, creator.sandbox_of);
    return creator.sandbox_of;
  };
}

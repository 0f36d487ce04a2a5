import type { Database } from '../../platform/db/database.ts';
import { type AppRow, appById } from './repo.ts';

const tables = ['apps'] as const;
const maxCached = 10_000;

/**
 * Finds an app by its client id. Where the engine reports that no app has changed (SQLite), the app comes from a cache;
 * elsewhere each request reads it. See docs/decisions/access-memory.md.
 * Unknown client ids are cached too, so that known and unknown ones take the same time.
 */
export function createAppLookup(db: Database) {
  const cache = new Map<string, AppRow | undefined>();
  let cachedVersion: number | undefined;
  return async (clientId: string): Promise<AppRow | undefined> => {
    const version = db.version(tables);
    if (version !== cachedVersion) cache.clear();
    cachedVersion = version;
    if (cache.has(clientId)) return cache.get(clientId);
    const app = await appById(db, clientId);
    if (version !== undefined && db.version(tables) === version) {
      if (cache.size >= maxCached) cache.clear();
      cache.set(clientId, app);
    }
    return app;
  };
}

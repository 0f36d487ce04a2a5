import type { Database } from '../../platform/db/database.ts';
import { type AppRow, appById } from './repo.ts';

const tables = ['apps'] as const;
const remembered = 10_000;

/**
 * An app as it is right now. Where the engine can tell that no app has changed (SQLite), the last answer is used again;
 * elsewhere each request reads. See docs/decisions/access-memory.md.
 * An unknown client id is remembered too, so that known and unknown ones take the same time.
 */
export function createAppLookup(db: Database) {
  const seen = new Map<string, AppRow | undefined>();
  let seenVersion: number | undefined;
  return async (clientId: string): Promise<AppRow | undefined> => {
    const version = db.version(tables);
    if (version !== seenVersion) seen.clear();
    seenVersion = version;
    if (seen.has(clientId)) return seen.get(clientId);
    const app = await appById(db, clientId);
    if (version !== undefined && db.version(tables) === version) {
      if (seen.size >= remembered) seen.clear();
      seen.set(clientId, app);
    }
    return app;
  };
}

import type { Clock, Wait } from './clock.ts';
import type { Database } from './db/database.ts';
import type { Hub } from './hub/hub.ts';
import type { NewId } from './ids.ts';
import type { Limiter } from './limiter/limiter.ts';
import type { Log } from './log.ts';
import type { Metrics } from './metrics.ts';
import type { Origins } from './origin.ts';
import type { SafeFetch } from './safe-fetch.ts';
import type { KeyedVault } from './vault.ts';
import type { Zone } from './zone.ts';

/** What the platform offers to features. A feature picks the parts that it needs: `Pick<Platform, 'db' | 'clock'>`. */
export interface Platform {
  readonly clock: Clock;
  readonly wait: Wait;
  readonly newId: NewId;
  readonly origins: Origins;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly db: Database;
  readonly hub: Hub;
  readonly limiter: Limiter;
  readonly vault: KeyedVault;
  readonly zone: Zone;
  readonly fetch: SafeFetch;
}

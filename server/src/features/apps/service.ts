import type { Clock } from '../../platform/clock.ts';
import type { Database, Tx } from '../../platform/db/database.ts';
import type { NewId } from '../../platform/ids.ts';
import type { Limiter } from '../../platform/limiter/limiter.ts';
import { hashSecret, newSecret } from '../../platform/secrets.ts';
import { createAuthentication } from './authentication.ts';
import { redirectUriProblem } from './redirect-uris.ts';
import * as repo from './repo.ts';

export interface AppsParts {
  readonly db: Database;
  readonly clock: Clock;
  readonly newId: NewId;
  readonly limiter: Limiter;
  readonly development: boolean;
}

export type Apps = ReturnType<typeof createApps>;

export class AppError extends Error {
  readonly code: 'app_unknown' | 'app_name_invalid' | 'redirect_uri_invalid';
  constructor(code: AppError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

/** How long the secret before the present one goes on working. */
const oldSecretMs = 24 * 3_600_000;

export function createApps({ db, clock, newId, limiter, development }: AppsParts) {
  return {
    async byId(clientId: string) {
      const app = await repo.appById(db, clientId);
      if (!app) throw new AppError('app_unknown', `There is no app with the client id "${clientId}".`);
      return app;
    },

    async add(input: { name: string; redirectUris: readonly string[]; ownerId: string | null; demo?: boolean }) {
      const name = input.name.trim();
      if (name.length < 1 || [...name].length > 60)
        throw new AppError('app_name_invalid', 'An app’s name has 1 to 60 characters.');
      for (const uri of input.redirectUris) {
        const problem = redirectUriProblem(uri, development);
        if (problem) throw new AppError('redirect_uri_invalid', `The redirect URI ${uri} ${problem}.`);
      }
      const clientSecret = newSecret('njs');
      const app = {
        id: newId('app'),
        owner_id: input.ownerId,
        name,
        redirect_uris: JSON.stringify([...new Set(input.redirectUris)]),
        secret_hash: hashSecret(clientSecret),
        demo: input.demo ? 1 : 0,
        created_at: clock(),
      };
      await db.write((tx) => repo.insertApp(tx, app));
      return { clientId: app.id, clientSecret, name };
    },

    authenticate: createAuthentication({ db, clock, limiter }),

    /** A new secret; the one until now works for another 24 hours, any older one no longer. */
    async rotateSecret(clientId: string): Promise<string> {
      const clientSecret = newSecret('njs');
      const oldUntil = clock() + oldSecretMs;
      if ((await db.write((tx) => repo.replaceSecret(tx, clientId, hashSecret(clientSecret), oldUntil))) === 0)
        throw new AppError('app_unknown', `There is no app with the client id "${clientId}".`);
      return clientSecret;
    },

    /** Suspension pauses; `null` restores. */
    setSuspended: (tx: Tx, clientId: string, at: number | null) => repo.setSuspended(tx, clientId, at),
  };
}

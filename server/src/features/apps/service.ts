import type { Platform } from '../../platform/platform.ts';
import { hashSecret, newSecret } from '../../platform/secrets.ts';
import { clientIdForm, createAuthentication } from './authentication.ts';
import { type AppDetails, type DetailProblem, detailProblems, problemText } from './details.ts';
import { redirectUriUsable } from './redirect-uris.ts';
import * as repo from './repo.ts';

export interface AppsParts extends Pick<Platform, 'db' | 'clock' | 'newId' | 'limiter'> {
  readonly development: boolean;
  readonly authUrl: string;
}

export type Apps = ReturnType<typeof createApps>;

export class AppError extends Error {
  readonly code: 'app_unknown' | 'app_name_invalid' | 'redirect_uri_invalid' | 'app_exists' | 'too_many_apps';
  /** Set if the details are invalid. */
  readonly problems: readonly DetailProblem[];
  constructor(code: AppError['code'], message: string, problems: readonly DetailProblem[] = []) {
    super(message);
    this.code = code;
    this.problems = problems;
  }
}

/** How long the old secret works after a rotation. */
const oldSecretMs = 24 * 3_600_000;

/** The most apps of one account. */
export const mostApps = 20;

export function createApps({ db, clock, newId, limiter, development, authUrl }: AppsParts) {
  function checked(input: AppDetails) {
    const details = { name: input.name.trim(), redirectUris: [...new Set(input.redirectUris)] };
    const problems = detailProblems(details, { development, authUrl });
    const [first] = problems;
    if (first)
      throw new AppError(
        first.field === 'name' ? 'app_name_invalid' : 'redirect_uri_invalid',
        problemText(first),
        problems,
      );
    return { name: details.name, redirect_uris: JSON.stringify(details.redirectUris) };
  }

  return {
    async byId(clientId: string) {
      const app = clientIdForm.test(clientId) ? await repo.appById(db, clientId) : undefined;
      if (!app) throw new AppError('app_unknown', `There is no app with the client id "${clientId}".`);
      return app;
    },

    async add(input: {
      name: string;
      redirectUris: readonly string[];
      ownerId: string | null;
      demo?: boolean;
      id?: string;
    }) {
      const details = checked(input);
      const clientSecret = newSecret('njs');
      const app = {
        id: input.id ?? newId('app'),
        owner_id: input.ownerId,
        ...details,
        secret_hash: hashSecret(clientSecret),
        demo: input.demo ? 1 : 0,
        created_at: clock(),
      };
      const added = await db.write(repo.writes.insertApp, app, mostApps);
      if (added === 'exists')
        throw new AppError('app_exists', `The app with the client id "${app.id}" exists already.`);
      if (added === 'too_many') throw new AppError('too_many_apps', `An account has at most ${mostApps} apps.`);
      return { clientId: app.id, clientSecret, name: app.name };
    },

    authenticate: createAuthentication({ db, clock, limiter }),

    /** Returns a new secret. The current one works for another 24 hours, any older one no longer. */
    async rotateSecret(clientId: string): Promise<string> {
      const clientSecret = newSecret('njs');
      const oldUntil = clock() + oldSecretMs;
      if (!(await db.write(repo.writes.replaceSecret, clientId, hashSecret(clientSecret), oldUntil)))
        throw new AppError('app_unknown', `There is no app with the client id "${clientId}".`);
      return clientSecret;
    },

    ofOwner: (ownerId: string) => repo.appsOfOwner(db, ownerId),

    /** Returns nothing for the app of another owner, as for one that does not exist. */
    ownedBy: async (ownerId: string, clientId: string) =>
      clientIdForm.test(clientId) ? repo.appOfOwner(db, ownerId, clientId) : undefined,

    /** Returns whether the owner has such an app. */
    async edit(ownerId: string, clientId: string, input: AppDetails): Promise<boolean> {
      return db.write(repo.writes.updateDetails, ownerId, { id: clientId, ...checked(input) });
    },

    /** Redirect URIs are compared as exact strings. */
    redirectsTo: (app: Pick<repo.AppRow, 'redirect_uris'>, uri: string): boolean =>
      redirectUrisOf(app).includes(uri) && redirectUriUsable(uri, development),

    /** Only for `grants.suspend`, which then rechecks the app's open connections. */
    setSuspended: (clientId: string, at: number | null) => db.write(repo.writes.setSuspended, clientId, at),
  };
}

export function redirectUrisOf({ redirect_uris }: Pick<repo.AppRow, 'redirect_uris'>): string[] {
  return JSON.parse(redirect_uris);
}

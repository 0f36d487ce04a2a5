import type { Platform } from '../../platform/platform.ts';
import { hashSecret, newSecret, sameHash } from '../../platform/secrets.ts';
import { clientIdForm, createAuthentication, isSecretOf } from './authentication.ts';
import { type AppDetails, type DetailProblem, problemText, readDetails } from './details.ts';
import { redirectUriUsable } from './redirect-uris.ts';
import * as repo from './repo.ts';

export interface AppsParts extends Pick<Platform, 'db' | 'origins' | 'clock' | 'newId' | 'limiter'> {
  readonly development: boolean;
  readonly authUrl: string;
}

export type Apps = ReturnType<typeof createApps>;

type NewApp = AppDetails & { readonly ownerId: string | null; readonly demo?: boolean; readonly id?: string };

export class AppError extends Error {
  readonly code:
    | 'app_unknown'
    | 'app_name_invalid'
    | 'app_description_invalid'
    | 'app_link_invalid'
    | 'redirect_uri_invalid'
    | 'app_exists'
    | 'too_many_apps';
  /** Set if the details are invalid. */
  readonly problems: readonly DetailProblem[];
  constructor(code: AppError['code'], message: string, problems: readonly DetailProblem[] = []) {
    super(message);
    this.code = code;
    this.problems = problems;
  }
}

const detailCodes = {
  name: 'app_name_invalid',
  description: 'app_description_invalid',
  homepage: 'app_link_invalid',
  privacy: 'app_link_invalid',
  redirectUris: 'redirect_uri_invalid',
} as const satisfies Record<DetailProblem['field'], AppError['code']>;

/** A secret that is not in use yet, and the hash of the one that it is made to replace. */
export interface SecretChange {
  readonly clientSecret: string;
  readonly replaced: string;
}

/** How long the old secret works after a rotation. */
const oldSecretMs = 24 * 3_600_000;

/** The most apps of one account. */
export const mostApps = 20;

export function createApps({ db, origins, clock, newId, limiter, development, authUrl }: AppsParts) {
  function checked(input: AppDetails, publicApp: boolean) {
    const read = readDetails(input, { development, authUrl, publicApp });
    if ('columns' in read) return read.columns;
    const [first] = read.problems;
    throw new AppError(detailCodes[first.field], problemText(first), read.problems);
  }

  async function byId(clientId: string) {
    const app = clientIdForm.test(clientId) ? await repo.appById(db, clientId) : undefined;
    if (!app) throw new AppError('app_unknown', `There is no app with the client id "${clientId}".`);
    return app;
  }

  /** Without a secret it is a public app. */
  async function insert(input: NewApp, secretHash: string | null) {
    const app = {
      id: input.id ?? newId('app'),
      owner_id: input.ownerId,
      ...checked(input, secretHash === null),
      public: secretHash === null ? 1 : 0,
      secret_hash: secretHash ?? '',
      demo: input.demo ? 1 : 0,
      created_at: clock(),
    };
    const added = await db.write(repo.writes.insertApp, origins.current(), app, mostApps);
    if (added === 'exists') throw new AppError('app_exists', `The app with the client id "${app.id}" exists already.`);
    if (added === 'too_many') throw new AppError('too_many_apps', `An account has at most ${mostApps} apps.`);
    return { clientId: app.id, name: app.name };
  }

  async function findCliApp(): Promise<string | undefined> {
    cliId ??= await repo.cliClientId(db);
    return cliId;
  }

  /** Never changes once it is known. */
  let cliId: string | undefined;

  const newSecretFor = ({ secret_hash }: Pick<repo.AppRow, 'secret_hash'>): SecretChange => ({
    clientSecret: newSecret('njs'),
    replaced: secret_hash,
  });

  async function changeSecret(clientId: string, { clientSecret, replaced }: SecretChange): Promise<boolean> {
    const hash = hashSecret(clientSecret);
    if (await db.write(repo.writes.replaceSecret, origins.current(), clientId, replaced, hash, clock() + oldSecretMs))
      return true;
    const app = await repo.appById(db, clientId);
    return app !== undefined && sameHash(app.secret_hash, hash);
  }

  return {
    byId,

    async add(input: NewApp) {
      const clientSecret = newSecret('njs');
      return { ...(await insert(input, hashSecret(clientSecret))), clientSecret };
    },

    /** An app that runs on people's own machines and can keep no secret. */
    addPublic: (input: NewApp) => insert(input, null),

    authenticate: createAuthentication({ db, clock, limiter }),

    /** The client id of the command line's own app, which every server has. The first call makes it. */
    async cliClientId(): Promise<string> {
      const found = await findCliApp();
      if (found !== undefined) return found;
      const id = newId('app');
      await db.write(repo.writes.insertCliApp, {
        id,
        owner_id: null,
        name: 'Namjai CLI',
        redirect_uris: '[]',
        public: 1,
        secret_hash: '',
        demo: 0,
        created_at: clock(),
        description: null,
        homepage_url: null,
        privacy_url: null,
      });
      return (await findCliApp()) ?? id;
    },

    /** Whether callers who have authenticated once still may, without their secrets. `ended`: suspended or deleted. */
    async recheck(callers: readonly { readonly clientId: string }[]) {
      const ids = [...new Set(callers.map(({ clientId }) => clientId))];
      const found = new Map((await repo.appsByIds(db, ids)).map((app) => [app.id, app]));
      return ({ clientId, secretHash }: { clientId: string; secretHash: string }): 'valid' | 'invalid' | 'ended' => {
        const app = found.get(clientId);
        if (!app || app.suspended_at !== null) return 'ended';
        return isSecretOf(app, secretHash, clock()) ? 'valid' : 'invalid';
      };
    },

    /** Returns a new secret, which is in use. */
    async rotateSecret(clientId: string): Promise<string> {
      const change = newSecretFor(await byId(clientId));
      if (!(await changeSecret(clientId, change))) throw new Error(`another secret of ${clientId} was made meanwhile`);
      return change.clientSecret;
    },

    newSecretFor,

    /**
     * Puts the new secret in use. The current one works for another 24 hours, any older one no longer. A change that is
     * made twice is one change. Returns false if another secret was made since `newSecretFor`, or the app was deleted.
     */
    changeSecret,

    ofOwner: (ownerId: string) => repo.appsOfOwner(db, ownerId),

    /** Returns nothing for the app of another owner, as for one that does not exist. */
    ownedBy: async (ownerId: string, clientId: string) =>
      clientIdForm.test(clientId) ? repo.appOfOwner(db, ownerId, clientId) : undefined,

    /** Returns whether the owner has such an app. */
    async edit(ownerId: string, clientId: string, input: AppDetails): Promise<boolean> {
      const app = await repo.appOfOwner(db, ownerId, clientId);
      if (!app) return false;
      return db.write(
        repo.writes.updateDetails,
        origins.current(),
        ownerId,
        clientId,
        checked(input, app.public === 1),
      );
    },

    /** Redirect URIs are compared as exact strings. */
    redirectsTo: (app: Pick<repo.AppRow, 'redirect_uris'>, uri: string): boolean =>
      redirectUrisOf(app).includes(uri) && redirectUriUsable(uri, development),

    /** Only for `grants.suspend`, which then rechecks the app's open connections. */
    setSuspended: (clientId: string, at: number | null) =>
      db.write(repo.writes.setSuspended, origins.current(), clientId, at),
  };
}

export function redirectUrisOf({ redirect_uris }: Pick<repo.AppRow, 'redirect_uris'>): string[] {
  return JSON.parse(redirect_uris);
}

import { toTimestamp, toTimestampOrNull } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/database.ts';
import type { Accounts } from '../accounts/index.ts';
import { type Apps, redirectUrisOf } from '../apps/index.ts';
import * as repo from './repo.ts';

export interface OperatorParts {
  readonly db: Database;
  readonly accounts: Pick<Accounts, 'byUsername'>;
  readonly apps: Pick<Apps, 'byId'>;
}

type ListOptions = Partial<repo.ListQuery>;

const creatorView = (row: repo.ListedCreator) => ({
  id: row.id,
  username: row.username,
  display_name: row.display_name,
  demo: row.demo === 1,
  suspended_at: toTimestampOrNull(row.suspended_at),
  delete_at: toTimestampOrNull(row.delete_at),
  created_at: toTimestamp(row.created_at),
  tips: { total: row.total_minor / 100, total_minor: row.total_minor, count: row.tip_count },
  connected_apps: row.connected_apps,
  own_apps: row.own_apps,
  last_event_at: toTimestampOrNull(row.last_event_at || null),
  last_seen_at: toTimestampOrNull(row.last_seen_at),
});

const appView = (row: repo.ListedApp) => ({
  client_id: row.id,
  name: row.name,
  public: row.public === 1,
  demo: row.demo === 1,
  owner: row.owner,
  suspended_at: toTimestampOrNull(row.suspended_at),
  created_at: toTimestamp(row.created_at),
  connected_creators: row.connected_creators,
  webhooks: row.webhooks,
  last_used_at: toTimestampOrNull(row.last_used_at),
});

export type CreatorSummary = ReturnType<typeof creatorView>;
export type AppSummary = ReturnType<typeof appView>;

/** What the operator sees of creators and apps, by the command line. */
export function createOperator({ db, accounts, apps }: OperatorParts) {
  /** One row more than asked for tells whether another page follows. */
  async function page<Row, View>(
    read: (query: repo.ListQuery) => Promise<Row[]>,
    view: (row: Row) => View,
    keyOf: (row: Row) => string,
    { after = '', search = '', limit = 50 }: ListOptions,
  ): Promise<{ data: View[]; next_after: string | null }> {
    const rows = await read({ after, search: search.toLowerCase(), limit: limit + 1 });
    const shown = rows.slice(0, limit);
    const last = rows.length > limit ? shown.at(-1) : undefined;
    return { data: shown.map(view), next_after: last === undefined ? null : keyOf(last) };
  }

  return {
    creators: (options: ListOptions = {}) =>
      page(
        (query) => repo.creators(db, query),
        creatorView,
        ({ username }) => username,
        options,
      ),

    apps: (options: ListOptions = {}) =>
      page(
        (query) => repo.apps(db, query),
        appView,
        ({ id }) => id,
        options,
      ),

    async creator(username: string) {
      const { id } = await accounts.byUsername(username);
      const [row, connected] = await Promise.all([repo.creatorById(db, id), repo.appsOf(db, id)]);
      if (!row) throw new Error(`creator ${id} has no head`);
      return {
        ...creatorView(row),
        apps: connected.map(({ created_at, last_used_at, ...app }) => ({
          ...app,
          created_at: toTimestamp(created_at),
          last_used_at: toTimestampOrNull(last_used_at),
        })),
      };
    },

    async app(clientId: string) {
      const app = await apps.byId(clientId);
      const { description, homepage_url, privacy_url } = app;
      const row = await repo.appById(db, clientId);
      if (!row) throw new Error(`app ${clientId} was deleted meanwhile`);
      return { ...appView(row), redirect_uris: redirectUrisOf(app), description, homepage_url, privacy_url };
    },
  };
}

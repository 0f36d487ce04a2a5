import type { Command } from 'commander';
import type { AppSummary, CreatorSummary } from '../features/operator/index.ts';
import { type Context, limitUpTo, withRuntime } from './command.ts';
import { fieldsText, minuteText, tableText, utcText } from './table.ts';

interface ListOptions {
  readonly search?: string;
  readonly after?: string;
  readonly limit: number;
}

const most = 1000;

const addListOptions = (command: Command, searched: string, after: string): Command =>
  command
    .option('--search <TEXT>', `Only those with this text in ${searched}`)
    .option('--limit <N>', `How many, at most ${most}`, limitUpTo(most), 50)
    .option('--after <KEY>', after);

const baht = (minor: number): string => (minor / 100).toFixed(2);
const state = ({ suspended_at, demo }: { suspended_at: string | null; demo: boolean }): string =>
  suspended_at !== null ? 'suspended' : demo ? 'demo' : 'active';
/** An account that waits for its deletion is suspended too. */
const creatorState = (creator: CreatorSummary): string => (creator.delete_at === null ? state(creator) : 'leaving');

function stateInFull(creator: CreatorSummary): string {
  const { suspended_at, delete_at } = creator;
  if (delete_at !== null) return `leaving: will be deleted after ${utcText(delete_at)}`;
  return suspended_at === null ? state(creator) : `suspended since ${utcText(suspended_at)}`;
}

const listed = (none: string, text: string, next: string | null): string =>
  text === '' ? none : next === null ? text : `${text}\nThere are more: go on with --after ${next}`;

export function addCreatorLists(group: Command, { env, print, terminal }: Context): void {
  const list = group.command('list').description('List creators with their tips, apps and last use, by username');
  addListOptions(list, 'their username or display name, or this id', 'Go on after this username').action(
    (options: ListOptions) =>
      withRuntime(env, async ({ operator }) => {
        const page = await operator.creators(options);
        print(page, listed('No creator found.', creatorTable(page.data), page.next_after));
      }),
  );

  function creatorTable(data: readonly CreatorSummary[]): string {
    if (data.length === 0) return '';
    const head = ['USERNAME', 'STATE', 'TIPS', 'BAHT', 'APPS', 'LAST EVENT (UTC)', 'LAST SEEN (UTC)', 'DISPLAY NAME'];
    const rows = data.map((each) => [
      each.username,
      creatorState(each),
      String(each.tips.count),
      baht(each.tips.total_minor),
      String(each.connected_apps),
      minuteText(each.last_event_at),
      minuteText(each.last_seen_at),
      each.display_name,
    ]);
    return tableText(head, rows, terminal);
  }

  group
    .command('show')
    .description('Show a creator, with the apps that are connected')
    .argument('<USERNAME>', 'Username of the creator')
    .action((username: string) =>
      withRuntime(env, async ({ operator }) => {
        const creator = await operator.creator(username);
        const fields = fieldsText([
          ['username', creator.username],
          ['display name', creator.display_name],
          ['id', creator.id],
          ['state', stateInFull(creator)],
          ['created', utcText(creator.created_at)],
          ['tips', `${creator.tips.count}, ${baht(creator.tips.total_minor)} baht`],
          ['own apps', String(creator.own_apps)],
          ['last event', utcText(creator.last_event_at)],
          ['last seen', utcText(creator.last_seen_at)],
        ]);
        const apps = creator.apps.map((app) => [
          app.client_id,
          minuteText(app.created_at),
          minuteText(app.last_used_at),
          app.scope,
          app.name,
        ]);
        const head = ['CONNECTED APP', 'SINCE (UTC)', 'LAST USED (UTC)', 'SCOPES', 'NAME'];
        print(
          creator,
          apps.length === 0 ? `${fields}\nNo app is connected.` : `${fields}\n\n${tableText(head, apps, terminal)}`,
        );
      }),
    );
}

export function addAppLists(group: Command, { env, print, terminal }: Context): void {
  const list = group.command('list').description('List apps with their owners, creators and last use, oldest first');
  addListOptions(list, 'their name or their owner’s username, or this id', 'Go on after this client id').action(
    (options: ListOptions) =>
      withRuntime(env, async ({ operator }) => {
        const page = await operator.apps(options);
        print(page, listed('No app found.', appTable(page.data), page.next_after));
      }),
  );

  function appTable(data: readonly AppSummary[]): string {
    if (data.length === 0) return '';
    const head = ['CLIENT ID', 'STATE', 'CREATORS', 'WEBHOOKS', 'LAST USED (UTC)', 'OWNER', 'NAME'];
    const rows = data.map((each) => [
      each.client_id,
      state(each),
      String(each.connected_creators),
      String(each.webhooks),
      minuteText(each.last_used_at),
      each.owner ?? '-',
      each.name,
    ]);
    return tableText(head, rows, terminal);
  }

  group
    .command('show')
    .description('Show an app')
    .argument('<ID>', 'The app’s client id')
    .action((id: string) =>
      withRuntime(env, async ({ operator }) => {
        const app = await operator.app(id);
        const fields = fieldsText([
          ['client id', app.client_id],
          ['name', app.name],
          ['kind', app.public ? 'public' : 'confidential'],
          ['owner', app.owner ?? 'the operator'],
          ['state', app.suspended_at === null ? state(app) : `suspended since ${utcText(app.suspended_at)}`],
          ['registered', utcText(app.created_at)],
          ['creators', String(app.connected_creators)],
          ['webhooks', String(app.webhooks)],
          ['last used', utcText(app.last_used_at)],
          ['redirects', app.redirect_uris.join(' ') || '-'],
          ['description', app.description ?? '-'],
          ['homepage', app.homepage_url ?? '-'],
          ['privacy', app.privacy_url ?? '-'],
        ]);
        print(app, fields);
      }),
    );
}

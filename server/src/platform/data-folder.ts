/**
 * Where the program keeps its data if nothing is set.
 *
 * - In the repository: `./data`.
 * - The installed package: the user's data folder (XDG Base Directory Specification). People run it in any folder, and
 *   `namjai serve` and `namjai creator list` have to find the same database. Where `./data/namjai.db` exists already,
 *   that file is used.
 */
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

const here = './data';

/** The package holds JavaScript, the repository TypeScript (scripts/pack.ts). */
const fromPackage = import.meta.url.endsWith('.js');

/** `undefined`: as the table of settings says. */
export function defaultDatabaseUrl(env: Environment, installed = fromPackage): string | undefined {
  const folder = dataFolder(env, installed);
  return folder === here ? undefined : `sqlite:${join(folder, 'namjai.db')}`;
}

export function dataFolder({ XDG_DATA_HOME, HOME }: Environment, installed = fromPackage): string {
  if (!installed || existsSync(join(here, 'namjai.db'))) return here;
  // The specification has a path that is not absolute ignored.
  if (XDG_DATA_HOME && isAbsolute(XDG_DATA_HOME)) return join(XDG_DATA_HOME, 'namjai');
  return join(HOME || homedir(), '.local', 'share', 'namjai');
}

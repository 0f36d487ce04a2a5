import { isIP } from 'node:net';
import { isLoopbackHost } from './platform/addresses.ts';
import { dataFolder, defaultDatabaseUrl } from './platform/data-folder.ts';

/**
 * The table of settings. The configuration, `check-config` and the guide are derived from it: to add a setting, add a
 * row. Of the other modules only cli/main.ts (LOG_LEVEL, for an error before the settings are read) and testing.ts
 * (NODE_ENV, as a guard) look at one in the environment themselves.
 */

/** A value that cannot be used. The message is for the person who set it. */
class InvalidSetting extends Error {}

type Parse<T> = (text: string) => T;

interface Setting<T> {
  /** The environment variable. */
  readonly name: string;
  readonly help: string;
  /** Gets `undefined` when the variable is not set or empty. */
  readonly parse: (text: string | undefined) => T;
  readonly defaultText?: string;
  /** `check-config` shows `(set)` in place of the value. */
  readonly secret: boolean;
}

const setting = <T>(name: string, help: string, parse: Parse<T>, defaultText: string, secret = false): Setting<T> => ({
  name,
  help,
  parse: (text = defaultText) => parse(text),
  defaultText,
  secret,
});

/** A setting without a default, or with one that depends on other settings. */
const optional = <T>(name: string, help: string, parse: Parse<T>, secret = false): Setting<T | undefined> => ({
  name,
  help,
  parse: (text) => (text === undefined ? undefined : parse(text)),
  secret,
});

const integer =
  (min: number, max: number): Parse<number> =>
  (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= max)) throw new InvalidSetting(`must be a whole number from ${min} to ${max}`);
    return value;
  };

const oneOf =
  <const T extends string>(...choices: T[]): Parse<T> =>
  (text) => {
    const found = choices.find((choice) => choice === text);
    if (found === undefined) throw new InvalidSetting(`must be one of ${choices.join(', ')}`);
    return found;
  };

const anyText: Parse<string> = (text) => text;

const listenHost: Parse<string> = (text) => {
  if (isIP(text) === 0 && !(/^[a-z0-9-]+(\.[a-z0-9-]+)*$/i.test(text) && /[a-z]/i.test(text)))
    throw new InvalidSetting('must be an address or a name of this machine, such as 127.0.0.1, or 0.0.0.0 for all');
  return text;
};

const origin: Parse<URL> = (text) => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !['http:', 'https:'].includes(url.protocol))
    throw new InvalidSetting('must be an http: or https: address');
  if (url.pathname !== '/' || url.search || url.hash || url.username || url.password)
    throw new InvalidSetting('must be an address without a path, such as https://tips.example');
  return url;
};

const timeZone: Parse<string> = (text) => {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone;
  } catch {
    throw new InvalidSetting('must be a time zone name such as Asia/Bangkok');
  }
};

const pattern: Parse<string> = (text) => {
  try {
    new RegExp(`^(?:${text})$`, 'u');
    return text;
  } catch {
    throw new InvalidSetting('must be a regular expression, such as [A-Za-z0-9_ ]+');
  }
};

/** Trusting every address would let anybody say who they are, and the framework refuses it without naming the setting. */
const proxies: Parse<string[]> = (text) =>
  cidrs(text).map((range) => {
    if (/\/0+$/.test(range))
      throw new InvalidSetting(
        `has "${range}", which is every address; name the addresses of your proxies, such as 10.0.0.0/8`,
      );
    return range;
  });

const cidrs: Parse<string[]> = (text) =>
  text
    .split(/[\s,]+/)
    .filter(Boolean)
    .map((range) => {
      const [address = '', bits, ...rest] = range.split('/');
      const family = address.includes('%') ? 0 : isIP(address);
      const most = family === 6 ? 128 : 32;
      if (!family || rest.length > 0 || (bits !== undefined && !(/^\d{1,3}$/.test(bits) && Number(bits) <= most)))
        throw new InvalidSetting(`has "${range}", which is not an address range such as 10.0.0.0/8`);
      return range;
    });

const database: Parse<{ engine: 'sqlite'; file: string } | { engine: 'postgres'; url: string }> = (text) => {
  if (text.startsWith('sqlite:') && text.length > 'sqlite:'.length)
    return { engine: 'sqlite', file: text.slice('sqlite:'.length) };
  if (/^postgres(ql)?:\/\/./.test(text) && URL.canParse(text)) return { engine: 'postgres', url: text };
  throw new InvalidSetting('must be sqlite:FILE or postgres://…');
};

const redis: Parse<string> = (text) => {
  if (!/^rediss?:\/\/./.test(text) || !URL.canParse(text)) throw new InvalidSetting('must be redis://… or rediss://…');
  return text;
};

export const minSecretKeyLength = 32;

const secretKey =
  (advice: string): Parse<string> =>
  (text) => {
    if (text.length < minSecretKeyLength)
      throw new InvalidSetting(`must have at least ${minSecretKeyLength} characters; ${advice}`);
    return text;
  };

const baht: Parse<number> = (text) => {
  const value = Number(text);
  if (!/^\d+(\.\d{1,2})?$/.test(text) || value <= 0 || value > 10_000_000_000)
    throw new InvalidSetting('must be an amount in baht greater than 0, such as 100000');
  return Math.round(value * 100);
};

const days =
  (min: number, max: number): Parse<number> =>
  (text) =>
    integer(min, max)(text) * 86_400_000;

const settings = {
  host: setting('HOST', 'Address to listen on', listenHost, '127.0.0.1'),
  port: setting('PORT', 'Port to listen on', integer(1, 65_535), '8080'),
  baseUrl: optional('BASE_URL', 'Public address of the API, without a path (default http://localhost:PORT)', origin),
  authUrl: optional('AUTH_URL', 'Public address of the pages, without a path (default http://localhost:PORT)', origin),
  database: setting(
    'DATABASE_URL',
    'sqlite:FILE, or postgres://… for many nodes',
    database,
    'sqlite:./data/namjai.db',
    true,
  ),
  redisUrl: optional('REDIS_URL', 'redis://…, with PostgreSQL and only then', redis, true),
  secretKey: optional(
    'SECRET_KEY',
    `Seals secrets at rest; at least ${minSecretKeyLength} characters (made and kept beside the database in development)`,
    secretKey('make one with: openssl rand -base64 48'),
    true,
  ),
  secretKeyOld: optional(
    'SECRET_KEY_OLD',
    'The key before, while SECRET_KEY is replaced: opens what it has sealed, and seals until namjai secret-key rotate',
    secretKey('it is what SECRET_KEY was before'),
    true,
  ),
  nodeEnv: setting('NODE_ENV', 'production switches development off', anyText, 'development'),
  timeZone: setting('TIME_ZONE', 'Where a month and a day begin', timeZone, 'Asia/Bangkok'),
  tipCapMinor: setting('TIP_CAP_THB', 'Largest tip, in baht', baht, '100000'),
  tipNamePattern: setting(
    'TIP_NAME_PATTERN',
    'Characters of a tip name, as a regular expression for the whole',
    pattern,
    '[A-Z0-9_ ]+',
  ),
  accessTokenSeconds: setting('ACCESS_TOKEN_SECONDS', 'Life of an access token', integer(60, 86_400), '3600'),
  refreshIdleMs: setting('REFRESH_IDLE_DAYS', 'A refresh token unused this long ends', days(1, 3650), '90'),
  refreshMaxMs: setting('REFRESH_MAX_DAYS', 'A refresh token family ends after this long', days(1, 3650), '365'),
  refreshRaceMs: setting(
    'REFRESH_RACE_SECONDS',
    'Grace for two refreshes in flight at once; 0 is off',
    (text) => integer(0, 300)(text) * 1000,
    '10',
  ),
  webhookAllowCidrs: setting('WEBHOOK_ALLOW_CIDRS', 'Non-public ranges webhooks may reach, for development', cidrs, ''),
  trustProxy: setting('TRUST_PROXY', 'Ranges of proxies whose X-Forwarded-* count', proxies, ''),
  signup: optional('SIGNUP', 'open or closed (default: open in development, else closed)', oneOf('open', 'closed')),
  logLevel: setting(
    'LOG_LEVEL',
    'How much is logged',
    oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    'info',
  ),
  metricsPort: optional('METRICS_PORT', 'Port for /metrics; unset: off', integer(1, 65_535)),
  metricsHost: setting('METRICS_HOST', 'Address to listen on for /metrics', listenHost, '127.0.0.1'),
  drainMs: setting(
    'DRAIN_SECONDS',
    'How long /readyz says no before anything closes, once the server is asked to stop',
    (text) => integer(0, 3600)(text) * 1000,
    '0',
  ),
  backupDir: optional('BACKUP_DIR', 'Folder for continuous copies of the embedded database; unset: off', anyText),
  backupEveryMs: optional(
    'BACKUP_EVERY',
    'Minutes between two copies, with BACKUP_DIR',
    (text) => integer(1, 10_080)(text) * 60_000,
  ),
} satisfies Record<string, Setting<unknown>>;

type Key = keyof typeof settings;
type Values = { [K in Key]: ReturnType<(typeof settings)[K]['parse']> };

export type Environment = Readonly<Record<string, string | undefined>>;

/** Everything that is wrong with the settings, one line each. */
export class ConfigError extends Error {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

/** A setting that is well-formed but cannot be used. The message names it and is for the person who set it. */
export class SettingFailure extends Error {
  readonly code: 'database_unavailable' | 'port_in_use' | 'address_refused' | 'folder_refused' | 'key_refused';
  constructor(code: SettingFailure['code'], message: string) {
    super(message);
    this.code = code;
  }
}

export type Config = ReturnType<typeof readConfig>;

export function readConfig(env: Environment) {
  const problems: string[] = [];
  const isWrong = (name: string): boolean => problems.some((line) => line.startsWith(`${name} `));
  const values = parseAll(env, problems);
  const ownAddress = new URL(`http://localhost:${values.port}`);
  const { host, nodeEnv, database, redisUrl, baseUrl = ownAddress, authUrl = ownAddress } = values;
  const { secretKey, secretKeyOld } = values;
  const development = nodeEnv !== 'production' && [host, baseUrl.hostname, authUrl.hostname].every(isLoopbackHost);

  if (database.engine === 'postgres' && !redisUrl && !isWrong('REDIS_URL'))
    problems.push('REDIS_URL is needed with a PostgreSQL DATABASE_URL');
  if (database.engine === 'sqlite' && redisUrl && !isWrong('DATABASE_URL'))
    problems.push('REDIS_URL goes with a PostgreSQL DATABASE_URL only; unset it');
  const { backupDir, backupEveryMs } = values;
  if ((backupDir === undefined) !== (backupEveryMs === undefined) && !isWrong('BACKUP_EVERY'))
    problems.push(
      backupDir === undefined
        ? 'BACKUP_EVERY goes with BACKUP_DIR; set both or none'
        : 'BACKUP_DIR goes with BACKUP_EVERY; set both or none',
    );
  if (database.engine === 'postgres' && backupDir !== undefined)
    problems.push('BACKUP_DIR is for the embedded store; unset it, and copy PostgreSQL with its own tools');
  if (secretKeyOld !== undefined && secretKey === secretKeyOld)
    problems.push('SECRET_KEY_OLD must differ from SECRET_KEY; make a new one with: openssl rand -base64 48');
  if (secretKeyOld !== undefined && development && !secretKey && !isWrong('SECRET_KEY'))
    problems.push('SECRET_KEY_OLD goes with SECRET_KEY; set both or none');
  if (!development) {
    if (!secretKey && !isWrong('SECRET_KEY'))
      problems.push('SECRET_KEY is required outside development; make one with: openssl rand -base64 48');
    for (const [name, url] of [
      ['BASE_URL', baseUrl],
      ['AUTH_URL', authUrl],
    ] as const)
      if (url.protocol !== 'https:' && !isLoopbackHost(url.hostname))
        problems.push(`${name} must be https: outside development`);
  }
  if (problems.length > 0) throw new ConfigError(problems);
  const signup = values.signup ?? (development ? 'open' : 'closed');
  return {
    ...values,
    baseUrl: baseUrl.origin,
    authUrl: authUrl.origin,
    signup,
    development,
    dataFolder: dataFolder(env),
  };
}

/** The defaults that depend on the machine. They take the place of those of the table. */
const defaultsOf = (env: Environment): Environment => ({ DATABASE_URL: defaultDatabaseUrl(env) });

/** The value of every row. A value that cannot be used adds a problem, and its default stands in for it. */
function parseAll(env: Environment, problems: string[]): Values {
  const defaults = defaultsOf(env);
  const entries = Object.entries<Setting<unknown>>(settings).map(([key, { name, parse }]) => {
    try {
      return [key, parse(env[name] || defaults[name])];
    } catch (error) {
      problems.push(`${name} ${error instanceof InvalidSetting ? error.message : String(error)}`);
      return [key, parse(undefined)];
    }
  });
  return Object.fromEntries(entries);
}

/** Each setting with its value and its source. With a `config`, defaults that depend on other settings are shown too. */
export function describeSettings(
  env: Environment,
  config: Partial<Config> = {},
): { name: string; value: string | null; source: string; help: string }[] {
  const defaults = defaultsOf(env);
  return (Object.keys(settings) as Key[]).map((key) => {
    const { name, help, secret, defaultText }: Setting<unknown> = settings[key];
    const derived = config[key];
    const fallback = defaults[name] ?? defaultText ?? (typeof derived === 'string' ? derived : undefined);
    const given = env[name];
    const value = given ? (secret ? '(set)' : given) : (fallback ?? null);
    return { name, value, source: given ? 'environment' : fallback === undefined ? 'not set' : 'default', help };
  });
}

import { isIP } from 'node:net';
import { isLoopbackHost } from './platform/addresses.ts';

/**
 * Every setting, in one table: its default, what it means and how its text is read.
 * This is the only reader of the environment; everything else is handed a `Config`.
 */

/** A value that cannot be used, with words for the person who set it. */
class Wrong extends Error {}

type Read<T> = (text: string) => T;

interface Setting<T> {
  readonly help: string;
  readonly read: Read<T>;
  /** Text used when the variable is not set; absent when there is no default. */
  readonly fallback?: string;
  /** Shown as `(set)` by check-config. */
  readonly secret?: boolean;
}

function setting<T>(help: string, read: Read<T>, fallback?: string, secret = false): Setting<T> {
  return { help, read, secret, ...(fallback === undefined ? {} : { fallback }) };
}

const integer =
  (min: number, max: number): Read<number> =>
  (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (!(value >= min && value <= max)) throw new Wrong(`must be a whole number from ${min} to ${max}`);
    return value;
  };

const oneOf =
  <const T extends string>(...choices: T[]): Read<T> =>
  (text) => {
    const found = choices.find((choice) => choice === text);
    if (found === undefined) throw new Wrong(`must be one of ${choices.join(', ')}`);
    return found;
  };

const anyText: Read<string> = (text) => text;

const origin: Read<URL> = (text) => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !['http:', 'https:'].includes(url.protocol)) throw new Wrong('must be an http: or https: address');
  if (url.pathname !== '/' || url.search || url.hash || url.username || url.password)
    throw new Wrong('must be an address without a path, such as https://tips.example');
  return url;
};

const timeZone: Read<string> = (text) => {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone;
  } catch {
    throw new Wrong('must be a time zone name such as Asia/Bangkok');
  }
};

const pattern: Read<string> = (text) => {
  try {
    new RegExp(`^(?:${text})$`, 'u');
    return text;
  } catch {
    throw new Wrong('must be a regular expression, such as [A-Za-z0-9_ ]+');
  }
};

const cidrs: Read<string[]> = (text) =>
  text
    .split(/[\s,]+/)
    .filter(Boolean)
    .map((range) => {
      const [address = '', bits, ...rest] = range.split('/');
      const family = isIP(address);
      const most = family === 6 ? 128 : 32;
      if (!family || rest.length > 0 || (bits !== undefined && !(/^\d{1,3}$/.test(bits) && Number(bits) <= most)))
        throw new Wrong(`has "${range}", which is not an address range such as 10.0.0.0/8`);
      return range;
    });

const database: Read<{ engine: 'sqlite'; file: string } | { engine: 'postgres'; url: string }> = (text) => {
  if (text.startsWith('sqlite:') && text.length > 'sqlite:'.length)
    return { engine: 'sqlite', file: text.slice('sqlite:'.length) };
  if (/^postgres(ql)?:\/\/./.test(text) && URL.canParse(text)) return { engine: 'postgres', url: text };
  throw new Wrong('must be sqlite:FILE or postgres://…');
};

const redis: Read<string> = (text) => {
  if (!/^rediss?:\/\/./.test(text) || !URL.canParse(text)) throw new Wrong('must be redis://… or rediss://…');
  return text;
};

const secretKey: Read<string> = (text) => {
  if (text.length < 32) throw new Wrong('must have at least 32 characters; make one with: openssl rand -base64 48');
  return text;
};

const baht: Read<number> = (text) => {
  const value = Number(text);
  if (!/^\d+(\.\d{1,2})?$/.test(text) || value <= 0 || value > 10_000_000_000)
    throw new Wrong('must be an amount in baht greater than 0, such as 100000');
  return Math.round(value * 100);
};

export const settings = {
  HOST: setting('Address to listen on', anyText, '127.0.0.1'),
  PORT: setting('Port to listen on', integer(1, 65_535), '8080'),
  BASE_URL: setting('Public address of the API, without a path (default http://localhost:PORT)', origin),
  AUTH_URL: setting('Public address of the pages, without a path (default http://localhost:PORT)', origin),
  DATABASE_URL: setting('sqlite:FILE, or postgres://… for many nodes', database, 'sqlite:./data/namjai.db', true),
  REDIS_URL: setting('redis://…, with PostgreSQL and only then', redis, undefined, true),
  SECRET_KEY: setting(
    'Seals secrets at rest; at least 32 characters (made and kept beside the database in development)',
    secretKey,
    undefined,
    true,
  ),
  NODE_ENV: setting('production switches development off', anyText, 'development'),
  TIME_ZONE: setting('Where a month and a day begin', timeZone, 'Asia/Bangkok'),
  TIP_CAP_THB: setting('Largest tip, in baht', baht, '100000'),
  TIP_NAME_PATTERN: setting('Characters of a tip name, as a regular expression for the whole', pattern, '[A-Z0-9_ ]+'),
  ACCESS_TOKEN_SECONDS: setting('Life of an access token', integer(60, 86_400), '3600'),
  REFRESH_IDLE_DAYS: setting('A refresh token unused this long ends', integer(1, 3650), '90'),
  REFRESH_MAX_DAYS: setting('A refresh token family ends after this long', integer(1, 3650), '365'),
  REFRESH_RACE_SECONDS: setting('Grace for two refreshes in flight at once; 0 is off', integer(0, 300), '10'),
  WEBHOOK_ALLOW_CIDRS: setting('Non-public ranges webhooks may reach, for development', cidrs, ''),
  TRUST_PROXY: setting('Ranges of proxies whose X-Forwarded-* count', cidrs, ''),
  SIGNUP: setting('open or closed (default: open in development, else closed)', oneOf('open', 'closed')),
  LOG_LEVEL: setting('How much is logged', oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'), 'info'),
  METRICS_PORT: setting('Port for /metrics on loopback; unset: off', integer(1, 65_535)),
} satisfies Record<string, Setting<unknown>>;

type Name = keyof typeof settings;
export type Environment = Readonly<Record<string, string | undefined>>;

/** Everything that is wrong with the settings, one line each. */
export class ConfigError extends Error {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.problems = problems;
  }
}

export type Config = ReturnType<typeof readConfig>;

export function readConfig(env: Environment) {
  const problems: string[] = [];
  function read<N extends Name>(name: N): ReturnType<(typeof settings)[N]['read']> | undefined {
    const { read, fallback }: Setting<unknown> = settings[name];
    const text = env[name] || fallback;
    if (text === undefined) return undefined;
    try {
      return read(text) as ReturnType<(typeof settings)[N]['read']>;
    } catch (error) {
      problems.push(`${name} ${error instanceof Wrong ? error.message : String(error)}`);
      return undefined;
    }
  }

  const host = read('HOST') ?? '127.0.0.1';
  const port = read('PORT') ?? 8080;
  const ownAddress = new URL(`http://localhost:${port}`);
  const baseUrl = read('BASE_URL') ?? ownAddress;
  const authUrl = read('AUTH_URL') ?? ownAddress;
  const storage = read('DATABASE_URL');
  const redisUrl = read('REDIS_URL');
  const development =
    read('NODE_ENV') !== 'production' && [host, baseUrl.hostname, authUrl.hostname].every(isLoopbackHost);
  const config = {
    host,
    port,
    baseUrl: baseUrl.origin,
    authUrl: authUrl.origin,
    database: storage ?? { engine: 'sqlite' as const, file: '' },
    redisUrl,
    secretKey: read('SECRET_KEY'),
    development,
    timeZone: read('TIME_ZONE') ?? '',
    tipCapMinor: read('TIP_CAP_THB') ?? 0,
    tipNamePattern: read('TIP_NAME_PATTERN') ?? '',
    accessTokenSeconds: read('ACCESS_TOKEN_SECONDS') ?? 0,
    refreshIdleMs: (read('REFRESH_IDLE_DAYS') ?? 0) * 86_400_000,
    refreshMaxMs: (read('REFRESH_MAX_DAYS') ?? 0) * 86_400_000,
    refreshRaceMs: (read('REFRESH_RACE_SECONDS') ?? 0) * 1000,
    webhookAllowCidrs: read('WEBHOOK_ALLOW_CIDRS') ?? [],
    trustProxy: read('TRUST_PROXY') ?? [],
    signup: read('SIGNUP') ?? (development ? 'open' : 'closed'),
    logLevel: read('LOG_LEVEL') ?? 'info',
    metricsPort: read('METRICS_PORT'),
  };

  if (storage?.engine === 'postgres' && !redisUrl) problems.push('REDIS_URL is needed with a PostgreSQL DATABASE_URL');
  if (storage?.engine === 'sqlite' && redisUrl)
    problems.push('REDIS_URL goes with a PostgreSQL DATABASE_URL only; unset it');
  if (!development) {
    if (!config.secretKey && !problems.some((line) => line.startsWith('SECRET_KEY')))
      problems.push('SECRET_KEY is required outside development; make one with: openssl rand -base64 48');
    for (const [name, url] of [
      ['BASE_URL', baseUrl],
      ['AUTH_URL', authUrl],
    ] as const)
      if (url.protocol !== 'https:' && !isLoopbackHost(url.hostname))
        problems.push(`${name} must be https: outside development`);
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return config;
}

/** Each setting with its value and where that came from, for `check-config`; defaults that depend on others are told. */
export function describeSettings(
  env: Environment,
  { baseUrl, authUrl, signup }: Partial<Pick<Config, 'baseUrl' | 'authUrl' | 'signup'>> = {},
): { name: string; value: string | null; source: string; help: string }[] {
  const derived: Record<string, string | undefined> = { BASE_URL: baseUrl, AUTH_URL: authUrl, SIGNUP: signup };
  return Object.entries<Setting<unknown>>(settings).map(([name, { fallback = derived[name], secret, help }]) => {
    const given = env[name];
    const value = given ? (secret ? '(set)' : given) : (fallback ?? null);
    return { name, value, source: given ? 'environment' : fallback === undefined ? 'not set' : 'default', help };
  });
}

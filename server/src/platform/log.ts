import { pino } from 'pino';

/**
 * Logs are JSON lines on standard output; in a terminal in development, short text.
 * Nothing secret is handed to the log in the first place; `redactUrl` takes tokens out of addresses, and pino's
 * redaction stands behind it for objects.
 */
export type Log = pino.Logger & {
  /** Writes one finished line, its end included: for what is logged so often that making it must cost nothing. */
  line(text: string): void;
};

const secretKeys = [
  'authorization',
  'cookie',
  'token',
  'access_token',
  'refresh_token',
  'client_secret',
  'code',
  'password',
  'secret',
  'socket_token',
];

export function createLog(options: { level: string; pretty?: boolean; stream?: pino.DestinationStream }): Log {
  const stream =
    options.stream ??
    (options.pretty
      ? { write: writePretty }
      : pino.destination({ fd: 1, sync: false, minLength: bufferedBytes, periodicFlush: 500 }));
  const logger = pino(
    {
      level: options.level,
      base: null,
      redact: { paths: secretKeys.flatMap((key) => [key, `*.${key}`]), censor: '[redacted]' },
      serializers: {
        err: (error) =>
          error instanceof Error ? { name: error.name, message: error.message, stack: error.stack } : error,
      },
    },
    stream,
  );
  const oneByOne = options.stream || options.pretty;
  return Object.assign(logger, { line: oneByOne ? (text: string) => void stream.write(text) : gatherLines(stream) });
}

/** Hands on the lines of one turn of the event loop together: the stream measures all it holds at every write. */
function gatherLines(stream: pino.DestinationStream): (text: string) => void {
  let gathered = '';
  const handOn = (): void => {
    const text = gathered;
    gathered = '';
    stream.write(text);
  };
  return (text) => {
    if (gathered === '') setImmediate(handOn);
    gathered += text;
  };
}

/** Written at once when there is this much, and twice a second in any case. */
const bufferedBytes = 16_000;

/**
 * Paths are kept, values of the query are not: any of them may be a token, and so may a long word without a value.
 * A credential of ours in a path, as an overlay's key, is known by its prefix.
 */
export function redactUrl(url: string): string {
  if (!url.includes('?') && !url.startsWith('/overlay/') && !url.includes('nj')) return url;
  const [path = '', query] = url.split('?', 2);
  const safePath = path.replace(/^(\/overlay\/)[^/]+/, '$1[redacted]').replace(/nj[cors]_\w+/g, '[redacted]');
  if (query === undefined) return safePath;
  return `${safePath}?${query.replace(/=[^&]*/g, '=…').replace(/[^&=…]{32,}/g, '…')}`;
}

function writePretty(line: string): void {
  const { level, time, msg, ...rest } = JSON.parse(line);
  const clock = new Date(time).toLocaleTimeString('en-GB');
  const { method, url, status, ms, err, ...others } = rest;
  const text =
    msg === 'request'
      ? `${method} ${url} ${status} ${ms} ms`
      : `${level >= 50 ? 'error: ' : level >= 40 ? 'warning: ' : ''}${msg}${Object.keys(others).length > 0 ? ` ${JSON.stringify(others)}` : ''}`;
  process.stdout.write(`${clock}  ${text}${err ? `\n${err.stack ?? err.message}` : ''}\n`);
}

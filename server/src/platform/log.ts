import { pino } from 'pino';

/**
 * Logs are JSON lines on standard output; in a terminal in development, short text. Callers must not log secrets.
 * `redactUrl` removes tokens from URLs, and pino's redaction of the fields below is the second line of defence.
 */
export type Log = pino.Logger & {
  /** Writes one complete line, including its line break: for callers on the hot path, which format lines themselves. */
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
      : pino.destination({ fd: 1, sync: false, minLength: maxBufferedBytes, periodicFlush: 500 }));
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
  const unbuffered = options.stream || options.pretty;
  return Object.assign(logger, { line: unbuffered ? (text: string) => void stream.write(text) : bufferLines(stream) });
}

/** Writes the lines of one turn of the event loop together, because each write costs the length of the whole buffer. */
function bufferLines(stream: pino.DestinationStream): (text: string) => void {
  let buffered = '';
  const flush = (): void => {
    const text = buffered;
    buffered = '';
    stream.write(text);
  };
  return (text) => {
    if (buffered === '') setImmediate(flush);
    buffered += text;
  };
}

/** The stream is flushed when it holds this much, and twice a second. */
const maxBufferedBytes = 16_000;

/**
 * Keeps the path and removes the values of the query, and long names without a value: any of them may be a token.
 * Credentials in the path, such as an overlay's key, are found by their prefix.
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

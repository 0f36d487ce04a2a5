import { pino } from 'pino';
import { redactLine } from './redact.ts';

/**
 * Logs are JSON lines on standard output; in a terminal in development, short text. Callers must not log secrets;
 * what looks like a secret is removed from every line all the same (redact.ts).
 */
export type Log = pino.Logger & {
  /**
   * Writes one complete line, including its line break: for callers on the hot path, which format lines themselves and
   * redact what a client chose.
   */
  line(text: string): void;
};

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
      serializers: { err: errorFields },
      hooks: { streamWrite: (line) => escapeHidden(redactLine(line)) },
    },
    stream,
  );
  const write = options.stream || options.pretty ? (text: string) => void stream.write(text) : bufferLines(stream);
  return Object.assign(logger, { line: (text: string) => write(escapeHidden(text)) });
}

/**
 * What a terminal would obey, turn around or draw over other lines is written as its escape: in a JSON line that changes
 * the spelling of a value and not the value. Line breaks of ours stay.
 */
function escapeHidden(text: string): string {
  if (!/[^\n\x20-\x7e]/.test(text)) return text;
  return text.replace(hidden, (found) =>
    Array.from({ length: found.length }, (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`).join(
      '',
    ),
  );
}

const hidden = /(?!\n)[\p{Cc}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\u2028\u2029]|\p{M}{5,}/gu;

/** `code` is what tells one failure of a connection or a database from another. */
function errorFields(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { name, message, stack } = error;
  return { name, message, ...('code' in error ? { code: error.code } : {}), stack };
}

/** Writes the lines of one iteration of the event loop together, because each write costs the length of the whole buffer. */
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

function writePretty(line: string): void {
  const { level, time, msg, ...rest } = JSON.parse(line);
  const clock = new Date(time).toLocaleTimeString('en-GB');
  const { method, url, status, ms, err, ...others } = rest;
  const text =
    msg === 'request'
      ? `${method} ${url} ${status} ${ms} ms`
      : `${level >= 50 ? 'error: ' : level >= 40 ? 'warning: ' : ''}${msg}${Object.keys(others).length > 0 ? ` ${JSON.stringify(others)}` : ''}`;
  process.stdout.write(escapeHidden(`${clock}  ${text}${err ? `\n${err.stack ?? err.message}` : ''}\n`));
}

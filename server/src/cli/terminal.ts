import { styleText } from 'node:util';

type Format = Parameters<typeof styleText>[0];

/** Where a command prints. Tests give an object that only writes. */
export interface Output {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

export interface Terminal {
  readonly isTTY: boolean;
  /** Infinity where no line has to be cut. */
  readonly columns: number;
  /** The text as it is where colours are not wanted: https://no-color.org */
  style(format: Format, text: string): string;
  /** Whether `style` does anything. */
  readonly colours: boolean;
}

export function createTerminal(
  { isTTY = false, columns = 80 }: Output,
  env: Readonly<Record<string, string | undefined>>,
): Terminal {
  const colours = isTTY && !env.NO_COLOR && env.TERM !== 'dumb';
  return {
    isTTY,
    columns: isTTY ? columns : Number.POSITIVE_INFINITY,
    colours,
    style: (format, text) => (colours ? styleText(format, text, { validateStream: false }) : text),
  };
}

/** What others wrote, on one line: without control characters, which a terminal would obey, and without direction marks. */
export const plainText = (text: string): string => text.replaceAll(/[\s\p{Cc}\p{Bidi_Control}]+/gu, ' ').trim();

/** A message, part of which a server may have sent. It may have lines. */
export const withoutControls = (text: string): string => text.replaceAll(/[^\P{Cc}\n\t]|\p{Bidi_Control}/gu, ' ');

/** The same of a text in which colours are our own: they stay. */
export const withStylesOnly = (text: string): string =>
  text.replaceAll(/\p{Cc}\[[\d;]*m|[^\P{Cc}\n\t]|\p{Bidi_Control}/gu, (found) =>
    found.length > 1 && found.startsWith(escapeCharacter) ? found : found.replaceAll(/\p{Cc}|\p{Bidi_Control}/gu, ' '),
  );

const escapeCharacter = String.fromCharCode(27);

/**
 * JSON on one line, in which what a terminal would obey is written as its escape: that changes the spelling of a value and
 * not the value.
 */
export const jsonLine = (object: object): string =>
  JSON.stringify(object).replaceAll(
    /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** Ends with … if the text was longer. Combining marks count as characters, so a line may end early, never late. */
export function cut(text: string, columns: number): string {
  const characters = [...text];
  if (characters.length <= columns) return text;
  return `${characters.slice(0, Math.max(0, columns - 1)).join('')}…`;
}

/** `12:34:56`, local time, and before it the day if that is not today. */
export function clockTime(at: Date, now = new Date()): string {
  const time = at.toTimeString().slice(0, 8);
  if (at.toDateString() === now.toDateString()) return time;
  const [month, day] = [at.getMonth() + 1, at.getDate()].map((number) => String(number).padStart(2, '0'));
  return `${at.getFullYear()}-${month}-${day} ${time}`;
}

/** Ctrl-C and SIGTERM end a command that would go on for ever, and so does the end of the pipe that reads it. */
export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => controller.abort());
  process.stdout.once('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
  return controller.signal;
}

import { lookup } from 'node:dns/promises';
import { type Answer, createSafeFetch } from '../platform/safe-fetch.ts';
import { Failure } from './errors.ts';
import { clockTime, cut, plainText, type Terminal } from './terminal.ts';

/** An event on its way to the developer's own program. */
interface Forwarded {
  readonly headers: Record<string, string>;
  readonly body: string;
}

export interface ForwardedAnswer extends Answer {
  readonly durationMs: number;
}

export interface Forward {
  (request: Forwarded): Promise<ForwardedAnswer>;
  close(): Promise<void>;
}

/** A server waits 15 seconds for the result. */
const timeoutMs = 14_000;

/** Any address is allowed, loopback included, because whoever runs the command chose it. */
export function createForward(url: URL): Forward {
  const fetch = createSafeFetch({
    allowCidrs: ['0.0.0.0/0', '::/0'],
    timeoutMs,
    resolve: async (name) => (await lookup(name, { all: true })).map(({ address }) => address),
  });
  const forward = async (request: Forwarded): Promise<ForwardedAnswer> => {
    const started = performance.now();
    const answer = await fetch.post({ url, ...request });
    return { ...answer, durationMs: Math.round(performance.now() - started) };
  };
  return Object.assign(forward, { close: () => fetch.close() });
}

/** `localhost:3000` is `http://localhost:3000`. */
export function readForwardUrl(typed: string): URL {
  const text = /^(localhost|[\d.]+)(:\d+)?(\/|$)/.test(typed) ? `http://${typed}` : typed;
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return new URL(text);
  throw new Failure('url_invalid', `"${typed}" is not an address that begins with http:// or https://.`);
}

/** One line for each event, for programs and for people. */
export function describeForwarded(body: string, { status, error, durationMs }: ForwardedAnswer, terminal: Terminal) {
  const { id, type, sequence }: { id: string; type: string; sequence: number | null } = JSON.parse(body);
  const succeeded = status !== null && status >= 200 && status < 300;
  const answer = status === null ? plainText(error ?? 'no answer') : String(status);
  const start = `${clockTime(new Date())}  ${plainText(type)}`;
  const end = `POST → ${answer} in ${durationMs} ms`;
  const room = terminal.columns - start.length - end.length - 6;
  const middle = room >= id.length ? `${terminal.style('dim', plainText(id))}  ` : '';
  const shown = cut(end, terminal.columns - start.length - 3);
  return {
    object: { id, type, sequence, status, duration_ms: durationMs, error },
    text: `${start}  ${middle}${terminal.style(succeeded ? 'green' : 'red', shown)}`,
  };
}

/**
 * Requests to addresses that a user gave. The one way out of this server.
 *
 * - A name is resolved once per connection, every address of it is checked, and the connection can only go to one
 *   that was: there is no second question to the name server that could be answered differently.
 *   TLS and the Host header keep the name.
 * - HTTPS only; plain http: where all addresses lie in ranges that the operator opened.
 * - No redirect is followed, no answer is decompressed, and whatever the other side does it costs one connection and
 *   `timeoutMs`: a body beyond `readBytes` ends the connection.
 */
import type { LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import type { Agent, buildConnector, Dispatcher } from 'undici';
import { createAddressRules } from './addresses.ts';
import { createResolve, type Resolve } from './resolve.ts';

export interface SafeFetchOptions {
  /** Ranges that may be reached besides public addresses. */
  readonly allowCidrs: readonly string[];
  readonly timeoutMs?: number;
  readonly resolve?: Resolve;
  /** Certificate authorities to trust in place of the usual ones. */
  readonly ca?: string;
}

export interface Outgoing {
  readonly url: URL;
  readonly headers: Record<string, string>;
  readonly body: string | Uint8Array;
}

/** What came back. Either a status, or why there is none; never a rejection. */
export interface Answer {
  readonly status: number | null;
  readonly error: string | null;
  /** The beginning of the body. */
  readonly body: string | null;
  readonly retryAfter: string | null;
  readonly timedOut: boolean;
}

export interface SafeFetch {
  post(request: Outgoing): Promise<Answer>;
  /** Why no request could go to this address, or nothing if it could. A name that does not resolve may do so later. */
  problem(url: string): Promise<UrlProblem | undefined>;
  close(): Promise<void>;
}

const keptBytes = 1024;
const readBytes = 64 * 1024;
const longestUrl = 2048;

/** Why an address is refused, in words for who sent it. */
export const urlProblems = {
  malformed: 'must be an address such as https://app.example/hook',
  too_long: 'must have at most 2,048 characters',
  not_https: 'must begin with https://',
  user_info: 'must not contain a user name or password',
  fragment: 'must not have a fragment (#…)',
  not_public: 'must lead to a public address',
} as const;

export type UrlProblem = keyof typeof urlProblems;

class Refused extends Error {
  constructor(problem: UrlProblem) {
    super(`The address ${urlProblems[problem]}.`);
  }
}

export function createSafeFetch({ allowCidrs, timeoutMs = 15_000, resolve, ca }: SafeFetchOptions): SafeFetch {
  const rules = createAddressRules(allowCidrs);
  const resolveName = resolve ?? createResolve();

  function addressProblem(protocol: string, addresses: readonly string[]): UrlProblem | undefined {
    if (!addresses.every(rules.mayReach)) return 'not_public';
    return protocol === 'https:' || addresses.every(rules.isOpened) ? undefined : 'not_https';
  }

  /** Node calls this once for a connection, and connects to nothing but what it answers. */
  const lookupFor =
    (protocol: string): LookupFunction =>
    (name, options, callback) => {
      const fail = (error: Error) => callback(error, '', 0);
      resolveName(name).then((addresses) => {
        const problem = addressProblem(protocol, addresses);
        if (problem) return fail(new Refused(problem));
        const found: LookupAddress[] = addresses.map((address) => ({ address, family: isIP(address) }));
        if (options.all) callback(null, found);
        else callback(null, found[0]!.address, found[0]!.family);
      }, fail);
    };
  /** Brings a hundred modules with it, so it is loaded for the first request: the server starts sooner. */
  async function createAgent(): Promise<Agent> {
    const { Agent, buildConnector } = await import('undici');
    const connectors = Object.fromEntries(
      ['https:', 'http:'].map((protocol) => [
        protocol,
        buildConnector({ timeout: timeoutMs, lookup: lookupFor(protocol), ...(ca === undefined ? {} : { ca }) }),
      ]),
    );
    const connect: buildConnector.connector = (options, callback) => {
      // An address is not looked up, so it is checked here.
      const problem = isIP(options.hostname) ? addressProblem(options.protocol, [options.hostname]) : undefined;
      const connector = connectors[options.protocol];
      if (problem || !connector) return callback(new Refused(problem ?? 'not_https'), null);
      connector(options, callback);
    };
    // No limit of connections to an origin: two endpoints may share one, and a dead one must not starve the other.
    return new Agent({ connect, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });
  }
  let agent: Promise<Agent> | undefined;

  return {
    async post(request) {
      agent ??= createAgent();
      const through = await agent;
      return new Promise((done) => exchange(through, request, timeoutMs, done));
    },

    async problem(text) {
      if (text.length > longestUrl) return 'too_long';
      if (/[\p{Cc}\s\\]/u.test(text) || !URL.canParse(text)) return 'malformed';
      const url = new URL(text);
      if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'not_https';
      if (url.protocol === 'http:' && allowCidrs.length === 0) return 'not_https';
      if (url.username || url.password) return 'user_info';
      if (text.includes('#')) return 'fragment';
      // The URL parser has turned every way to write an IPv4 address into the usual one.
      const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
      if (isIP(host)) return addressProblem(url.protocol, [host]);
      const addresses = await resolveName(host).catch(() => []);
      return addressProblem(url.protocol, addresses);
    },

    async close() {
      await (await agent)?.destroy();
    },
  };
}

/** One request and what came back, told once, in time. */
function exchange(agent: Agent, { url, headers, body }: Outgoing, timeoutMs: number, done: (answer: Answer) => void) {
  const { origin, pathname, search } = url;
  const chunks: Buffer[] = [];
  let [kept, read] = [0, 0];
  let status: number | null = null;
  let retryAfter: string | null = null;
  let controller: Dispatcher.DispatchController | undefined;
  let over = false;

  function finish(error: string | null, timedOut = false): void {
    if (over) return;
    over = true;
    clearTimeout(timer);
    done({ status, error, retryAfter, timedOut, body: status === null ? null : Buffer.concat(chunks).toString() });
  }
  const timer = setTimeout(() => {
    finish(`no complete answer within ${timeoutMs / 1000} seconds`, true);
    controller?.abort(new Error('timeout'));
  }, timeoutMs);

  agent.dispatch(
    { origin, path: `${pathname}${search}`, method: 'POST', headers, body },
    {
      onRequestStart(started) {
        controller = started;
        // It waited for its connection until its time was up.
        if (over) started.abort(new Error('timeout'));
      },
      onResponseStart(_, code, answered) {
        if (code < 200) return;
        status = code;
        retryAfter = typeof answered['retry-after'] === 'string' ? answered['retry-after'] : null;
      },
      onResponseData(current, chunk) {
        read += chunk.length;
        if (kept < keptBytes) {
          chunks.push(Buffer.from(chunk.subarray(0, keptBytes - kept)));
          kept += Math.min(chunk.length, keptBytes - kept);
        }
        if (read <= readBytes) return;
        finish(null);
        current.abort(new Error('enough'));
      },
      onResponseEnd: () => finish(null),
      onResponseError: (_, error) => finish(words(error)),
    },
  );
}

function words(error: Error & { code?: string }): string {
  if (error instanceof Refused) return error.message;
  if (error instanceof AggregateError && error.errors[0] instanceof Error) return words(error.errors[0]);
  return error.code ? `${error.code}: ${error.message}` : error.message;
}

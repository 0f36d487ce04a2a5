/**
 * Requests to URLs that a user gave: the only outgoing HTTP of this server. Invariants:
 *
 * - A name is resolved once for each connection, all its addresses are checked, and the connection can only go to one of
 *   them. No second lookup could answer differently (DNS rebinding). TLS and the Host header keep the name.
 * - Port 80, 443 or one from 1024 up, so that no other service of a host (SSH, mail) is spoken to.
 * - HTTPS only; plain http: where all addresses are in ranges that the operator opened.
 * - No redirect is followed and no body is decompressed. Whatever the receiver does, a request costs at most one
 *   connection and `timeoutMs`; a body longer than `maxReadBytes`, or too many answers before the answer, close the
 *   connection.
 */
import type { LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import type { Agent, buildConnector, Dispatcher } from 'undici';
import { createAddressRules, createResolve, type Resolve } from './addresses.ts';

export interface SafeFetchOptions {
  /** Address ranges that are allowed besides public addresses. */
  readonly allowCidrs: readonly string[];
  readonly timeoutMs?: number;
  readonly resolve?: Resolve;
  /** Certificate authorities to trust in place of the usual ones. */
  readonly ca?: string;
}

interface Outgoing {
  readonly url: URL;
  readonly headers: Record<string, string>;
  readonly body: string | Uint8Array;
}

/** A request never rejects. It has a status and an error if it failed after the head of the answer had come. */
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
  /** How long an answer may take. */
  readonly timeoutMs: number;
  /** Why requests to this URL are refused, if they are. A name that does not resolve is accepted: it may resolve later. */
  problem(url: string): Promise<UrlProblem | undefined>;
  /** Whether this URL leads only to addresses that the operator opened. */
  isOpened(url: URL): Promise<boolean>;
  close(): Promise<void>;
}

const maxKeptBytes = 1024;
const maxReadBytes = 64 * 1024;
const maxUrlLength = 2048;
/** Answers before the answer (1xx). To parse them without an end would take a whole processor. */
const maxInformational = 100;

/** Why a URL is refused, in the words of an error message. */
export const urlProblems = {
  malformed: 'must be an address such as https://app.example/hook',
  too_long: 'must have at most 2,048 characters',
  not_https: 'must begin with https://',
  user_info: 'must not contain a user name or password',
  fragment: 'must not have a fragment (#…)',
  port: 'must use port 80, 443 or one from 1024 up',
  not_public: 'must lead to a public address',
} as const;

export type UrlProblem = keyof typeof urlProblems;

class RefusedAddress extends Error {
  constructor(problem: UrlProblem) {
    super(`The address ${urlProblems[problem]}.`);
  }
}

/** How long an answer may take. */
export const answerTimeoutMs = 15_000;

export function createSafeFetch({ allowCidrs, timeoutMs = answerTimeoutMs, resolve, ca }: SafeFetchOptions): SafeFetch {
  const rules = createAddressRules(allowCidrs);
  const resolveName = resolve ?? createResolve();

  function addressProblem(protocol: string, addresses: readonly string[]): UrlProblem | undefined {
    if (!addresses.every(rules.mayReach)) return 'not_public';
    return protocol === 'https:' || addresses.every(rules.isOpened) ? undefined : 'not_https';
  }

  /** None for a name that does not resolve. The URL parser has normalized all notations of IPv4 addresses. */
  async function addressesOf({ hostname }: URL): Promise<readonly string[]> {
    const host = hostname.replace(/^\[(.*)\]$/, '$1');
    return isIP(host) ? [host] : resolveName(host).catch(() => []);
  }

  /** Node calls this once for each connection, and connects only to the addresses that it returns. */
  const lookupFor =
    (protocol: string): LookupFunction =>
    (name, options, callback) => {
      const fail = (error: Error) => callback(error, '', 0);
      resolveName(name).then((addresses) => {
        const problem = addressProblem(protocol, addresses);
        if (problem) return fail(new RefusedAddress(problem));
        const found: LookupAddress[] = addresses.map((address) => ({ address, family: isIP(address) }));
        const [first] = found;
        if (!first) fail(new Error(`${name} does not resolve`));
        else if (options.all) callback(null, found);
        else callback(null, first.address, first.family);
      }, fail);
    };

  /** undici is loaded for the first request: its hundred modules would delay the server's start. */
  async function createAgent(): Promise<Agent> {
    const { Agent, buildConnector } = await import('undici');
    const connectors = Object.fromEntries(
      ['https:', 'http:'].map((protocol) => [
        protocol,
        buildConnector({ timeout: timeoutMs, lookup: lookupFor(protocol), ...(ca === undefined ? {} : { ca }) }),
      ]),
    );
    const connect: buildConnector.connector = (options, callback) => {
      // No lookup happens for a literal address.
      const literal = isIP(options.hostname) ? addressProblem(options.protocol, [options.hostname]) : undefined;
      const problem = isPortAllowed(options.port) ? literal : 'port';
      const connector = connectors[options.protocol];
      if (problem || !connector) return callback(new RefusedAddress(problem ?? 'not_https'), null);
      connector(options, callback);
    };
    // The connections of an origin are not limited: endpoints may share it, and a dead one must not starve the others.
    return new Agent({ connect, pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });
  }
  let agent: Promise<Agent> | undefined;

  return {
    timeoutMs,

    async post(request) {
      agent ??= createAgent();
      const through = await agent;
      return new Promise((done) => exchange(through, request, timeoutMs, done));
    },

    async problem(text) {
      if (text.length > maxUrlLength) return 'too_long';
      if (/[\p{Cc}\s\\]/u.test(text) || !URL.canParse(text)) return 'malformed';
      const url = new URL(text);
      if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'not_https';
      if (url.protocol === 'http:' && allowCidrs.length === 0) return 'not_https';
      if (url.username || url.password) return 'user_info';
      if (text.includes('#')) return 'fragment';
      if (!isPortAllowed(url.port)) return 'port';
      return addressProblem(url.protocol, await addressesOf(url));
    },

    async isOpened(url) {
      const addresses = await addressesOf(url);
      return addresses.length > 0 && addresses.every(rules.isOpened);
    },

    async close() {
      await (await agent)?.destroy();
    },
  };
}

/** The port as a URL has it: empty for the one of its protocol. */
const isPortAllowed = (port: string): boolean => ['', '80', '443'].includes(port) || Number(port) >= 1024;

/** Sends one request and calls `done` exactly once, at the latest after `timeoutMs`. */
function exchange(agent: Agent, { url, headers, body }: Outgoing, timeoutMs: number, done: (answer: Answer) => void) {
  const { origin, pathname, search } = url;
  const chunks: Buffer[] = [];
  let [kept, read, informational] = [0, 0, 0];
  let status: number | null = null;
  let retryAfter: string | null = null;
  let controller: Dispatcher.DispatchController | undefined;
  let finished = false;

  function finish(error: string | null, timedOut = false): void {
    if (finished) return;
    finished = true;
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
        // The timeout passed while the request waited for a connection.
        if (finished) started.abort(new Error('timeout'));
      },
      onResponseStart(current, code, answered) {
        if (code < 200) {
          informational += 1;
          if (informational <= maxInformational) return;
          finish('too many informational answers');
          return current.abort(new Error('enough'));
        }
        status = code;
        retryAfter = typeof answered['retry-after'] === 'string' ? answered['retry-after'] : null;
      },
      onResponseData(current, chunk) {
        read += chunk.length;
        if (kept < maxKeptBytes) {
          chunks.push(Buffer.from(chunk.subarray(0, maxKeptBytes - kept)));
          kept += Math.min(chunk.length, maxKeptBytes - kept);
        }
        if (read <= maxReadBytes) return;
        finish(null);
        current.abort(new Error('enough'));
      },
      onResponseEnd: () => finish(null),
      onResponseError: (_, error) => finish(errorMessage(error)),
    },
  );
}

function errorMessage(error: Error & { code?: string }): string {
  if (error instanceof RefusedAddress) return error.message;
  if (error instanceof AggregateError && error.errors[0] instanceof Error) return errorMessage(error.errors[0]);
  return error.code ? `${error.code}: ${error.message}` : error.message;
}

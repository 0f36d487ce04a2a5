import type { FloodRequest } from '../../server/test/flood.ts';
import { type RawAnswer, requestBytes } from '../../server/test/raw-http.ts';
import { at } from './at.ts';

/** What a load consists of, described so that it can be sent to the load generator. */
export type WorkloadSpec = CycleSpec | ListSpec | RefreshSpec;

interface Target {
  readonly port: number;
  readonly connections: number;
  /** The only status that counts as success. */
  readonly status: number;
}

/** The same request with one token after another, so that each (app, creator) pair stays below its limit. */
interface CycleSpec extends Target {
  readonly kind: 'cycle';
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly tokens: readonly string[];
  readonly body?: object;
}

/** These requests in turn. */
interface ListSpec extends Target {
  readonly kind: 'list';
  readonly requests: readonly FloodRequest[];
}

/** Each connection follows its own chains of refresh tokens, `refreshesInTurn` of each, so that none is refreshed too often. */
export interface RefreshSpec extends Target {
  readonly kind: 'refresh';
  readonly path: string;
  readonly chains: readonly { readonly clientId: string; readonly clientSecret: string; readonly token: string }[];
  readonly form: 'json' | 'urlencoded';
}

export interface Workload {
  next(connection: number): Buffer;
  answered?(connection: number, answer: RawAnswer): void;
}

export function createWorkload(spec: WorkloadSpec): Workload {
  if (spec.kind === 'refresh') return refresh(spec);
  return inTurn(spec.kind === 'cycle' ? requestsOf(spec) : spec.requests);
}

function requestsOf({ method, path, tokens, body }: CycleSpec): FloodRequest[] {
  const text = body && JSON.stringify(body);
  return tokens.map((token) => ({
    method,
    path,
    headers: { authorization: `Bearer ${token}`, ...(text ? { 'content-type': 'application/json' } : {}) },
    ...(text ? { body: text } : {}),
  }));
}

function inTurn(list: readonly FloodRequest[]): Workload {
  const requests = list.map(({ method, path, headers = {}, body }) => requestBytes(method, path, headers, body));
  let last = -1;
  return {
    next() {
      last = last + 1 === requests.length ? 0 : last + 1;
      return at(requests, last);
    },
  };
}

const refreshesInTurn = 1_000;

function refresh({ path, chains, form, connections }: RefreshSpec): Workload {
  if (chains.length < connections || chains.length % connections !== 0)
    throw new Error('the number of chains must be a multiple of the number of connections');
  const tokens = chains.map(({ token }) => token);
  const answers = Array.from({ length: connections }, () => 0);
  const chainOf = (connection: number): number =>
    (connection + connections * Math.floor(at(answers, connection) / refreshesInTurn)) % chains.length;
  return {
    next(connection) {
      const chain = chainOf(connection);
      const { clientId, clientSecret } = at(chains, chain);
      const fields = {
        grant_type: 'refresh_token',
        client_id: clientId,
        client_secret: clientSecret,
        refresh_token: at(tokens, chain),
      };
      return form === 'json'
        ? requestBytes('POST', path, { 'content-type': 'application/json' }, JSON.stringify(fields))
        : requestBytes(
            'POST',
            path,
            { 'content-type': 'application/x-www-form-urlencoded' },
            new URLSearchParams(fields).toString(),
          );
    },
    answered(connection, { bytes, bodyAt }) {
      const token = /"refresh_token":"([^"]+)"/.exec(bytes.toString('latin1', bodyAt))?.[1];
      if (token !== undefined) tokens[chainOf(connection)] = token;
      answers[connection] = at(answers, connection) + 1;
    },
  };
}

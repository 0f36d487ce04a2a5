import type { AccessToken } from './access-token.ts';
import { NamjaiError } from './error.ts';

/**
 * One call of the API, repeated where that is safe. A request that got a 429 had no effect, so it may always be repeated.
 * After a lost connection, a 502, a 503 or a 504 only requests marked `repeatable` are.
 */

export type RequestOptions = {
  /** The API's base URL, without `/v1`. */
  baseUrl: string;
  /** A token, or a function that gets one. It is called again, with the refused token, after a 401. */
  accessToken: AccessToken;
  /** How often a request is tried again. Default 3, and 10 for `tips.create`. */
  retries?: number | undefined;
  /** How long one try may take. Default 15 seconds. */
  timeoutMs?: number;
  fetch?: typeof fetch;
  sleep?: (ms: number) => Promise<void>;
  random?: () => number;
};

type Call = {
  method?: 'GET' | 'POST';
  path: string;
  query?: Record<string, string | number | undefined>;
  body?: unknown;
  headers?: Record<string, string>;
  repeatable: boolean;
  /** In place of the usual number, unless the caller of the SDK has chosen one. */
  retries?: number;
};

export type Request = <T>(call: Call) => Promise<T>;

const TRANSIENT_STATUSES = [502, 503, 504];
const USUAL_RETRIES = 3;
const MAX_WAIT_MS = 60_000;
const MAX_BACK_OFF_MS = 8_000;

export function createRequest(options: RequestOptions, getToken: (refused?: string) => Promise<string>): Request {
  const { timeoutMs = 15_000, random = Math.random } = options;
  const send = options.fetch ?? fetch;
  const sleep = options.sleep ?? ((ms) => new Promise((resolve) => setTimeout(resolve, ms)));
  const renewable = typeof options.accessToken === 'function';

  function urlOf(call: Call): URL {
    const url = new URL(call.path, options.baseUrl);
    for (const [name, value] of Object.entries(call.query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    return url;
  }

  async function attempt(call: Call, url: URL, bearer: string): Promise<Response> {
    const headers = new Headers({ ...call.headers, accept: 'application/json', authorization: `Bearer ${bearer}` });
    const init: RequestInit = { method: call.method ?? 'GET', headers, signal: AbortSignal.timeout(timeoutMs) };
    if (call.body !== undefined) {
      headers.set('content-type', 'application/json');
      init.body = JSON.stringify(call.body);
    }
    return send(url, init);
  }

  /** Full jitter, so that clients that failed together do not come back together. */
  const backOff = (tries: number) => random() * Math.min(500 * 2 ** tries, MAX_BACK_OFF_MS);

  return async (call) => {
    const url = urlOf(call);
    let bearer = await getToken();
    const retries = options.retries ?? call.retries ?? USUAL_RETRIES;
    let renewals = 0;
    for (let tries = 0; ; tries += 1) {
      let response: Response;
      try {
        response = await attempt(call, url, bearer);
        if (response.ok) return await read(response);
      } catch (error) {
        if (error instanceof NamjaiError) throw error;
        if (!call.repeatable || tries >= retries)
          throw NamjaiError.unanswered(url.origin, tries + 1, nextStep(call), error);
        await sleep(backOff(tries));
        continue;
      }
      const error = await NamjaiError.from(response);
      // A new token that has expired, too, is the server's doing; one that is wrong in another way stays wrong.
      const mayRenew = renewals === 0 || (error.code === 'token_expired' && renewals < retries);
      if (error.status === 401 && renewable && mayRenew) {
        renewals += 1;
        tries -= 1;
        bearer = await getToken(bearer);
        continue;
      }
      const wait = retryAfter(response) ?? backOff(tries);
      const again = error.status === 429 || (call.repeatable && TRANSIENT_STATUSES.includes(error.status));
      if (!again || tries >= retries || wait > MAX_WAIT_MS) throw error;
      await sleep(wait);
    }
  };
}

/** A body that breaks off rejects as a lost connection does. A body that is not JSON is not worth a second try. */
async function read<T>(response: Response): Promise<T> {
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch (error) {
    throw NamjaiError.notJson(response, error);
  }
}

/** What the caller can do. The server may have carried out the last try, although the response was lost. */
function nextStep({ method = 'GET', headers, repeatable }: Call): string {
  const check = 'Check baseUrl, the network and whether the server runs';
  if (method === 'GET') return `${check}, then call again.`;
  if (!repeatable) return `${check}. It may have been carried out; calling again may do it twice.`;
  const key = headers?.['idempotency-key'];
  if (key === undefined) return `${check}, then call again: a repeat changes nothing.`;
  return `${check}, then call again with the idempotencyKey ${key}: that records nothing twice.`;
}

function retryAfter(response: Response): number | undefined {
  const seconds = response.headers.get('retry-after');
  return seconds !== null && /^\d+$/.test(seconds) ? Number(seconds) * 1000 : undefined;
}

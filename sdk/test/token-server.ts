import { sha256 } from '../src/oauth/encoding.ts';

/** A refresh token, and what became of it. */
interface Refresh {
  readonly family: Family;
  used: boolean;
  /** Of the refresh that used it. */
  key: string | null;
  successor: string | null;
}

interface Family {
  readonly creatorId: string;
  ended: boolean;
}

/** Changes one request or its response: throws for a lost one, or returns another response. */
export type Interceptor = (path: string, arrive: () => Promise<Response>) => Promise<Response>;

/**
 * The OAuth endpoints as the contract has them, in memory, behind a `fetch` that a test can disturb. The real server is
 * held to the same by server/test/flows/sdk-oauth.test.ts.
 */
export function tokenServer({ issuer = 'https://auth.example' } = {}) {
  const refreshes = new Map<string, Refresh>();
  const access = new Map<string, { family: Family; expired: boolean }>();
  const codes = new Map<string, { creatorId: string; challenge: string }>();
  const log: { path: string; fields: Record<string, string>; key: string | null; error: string | null }[] = [];
  let made = 0;
  let intercept: Interceptor = (_, arrive) => arrive();
  let device: string[] = [];

  const answer = (status: number, body: object, headers: Record<string, string> = {}) =>
    new Response(JSON.stringify(body), { status, headers });
  const refuse = (error: string, status = 400) => answer(status, { error, error_description: `It is ${error}.` });

  function issue(family: Family): Response {
    made += 1;
    const payload = btoa(JSON.stringify({ sub: family.creatorId })).replaceAll('=', '');
    const [accessToken, refreshToken] = [`h.${payload}.${made}`, `njr_secret_${made}`];
    access.set(accessToken, { family, expired: false });
    refreshes.set(refreshToken, { family, used: false, key: null, successor: null });
    return answer(200, {
      access_token: accessToken,
      refresh_token: refreshToken,
      expires_in: 3600,
      token_type: 'Bearer',
      scope: 'tips.read',
    });
  }

  function refresh(token: string, key: string | null): Response {
    const found = refreshes.get(token);
    if (!found || found.family.ended) return refuse('invalid_grant');
    const successor = found.successor === null ? undefined : refreshes.get(found.successor);
    const repeats = found.used && key !== null && found.key === key && successor?.used === false;
    if (found.used && !repeats) {
      found.family.ended = true;
      return refuse('invalid_grant');
    }
    if (successor) successor.used = true;
    const response = issue(found.family);
    Object.assign(found, { used: true, key, successor: `njr_secret_${made}` });
    return response;
  }

  async function exchange(fields: Record<string, string>): Promise<Response> {
    const code = codes.get(fields.code ?? '');
    codes.delete(fields.code ?? '');
    if (!code || code.challenge !== (await sha256(fields.code_verifier ?? ''))) return refuse('invalid_grant');
    return issue({ creatorId: code.creatorId, ended: false });
  }

  async function token(fields: Record<string, string>, key: string | null): Promise<Response> {
    if (fields.client_secret !== 'njs_secret') return refuse('invalid_client', 401);
    if (fields.grant_type === 'authorization_code') return exchange(fields);
    if (fields.grant_type === 'refresh_token') return refresh(fields.refresh_token ?? '', key);
    const step = device.shift() ?? 'approved';
    return step === 'approved' ? issue({ creatorId: 'crt_device', ended: false }) : refuse(step);
  }

  function api(authorization: string | null): Response {
    const found = access.get(authorization?.replace('Bearer ', '') ?? '');
    const error = !found || found.expired ? 'token_expired' : found.family.ended ? 'grant_unusable' : undefined;
    if (error) return answer(error === 'grant_unusable' ? 403 : 401, { error: { code: error, message: error } });
    return answer(200, { id: found?.family.creatorId });
  }

  async function serve(path: string, init: RequestInit): Promise<Response> {
    const headers = new Headers(init.headers);
    const fields = Object.fromEntries(new URLSearchParams(String(init.body ?? '')));
    const key = headers.get('idempotency-key');
    let response: Response;
    if (path === '/.well-known/oauth-authorization-server')
      response = answer(200, { issuer, authorization_endpoint: `${issuer}/oauth/authorize` });
    else if (path === '/v1/oauth/token') response = await token(fields, key);
    else if (path === '/v1/oauth/device_authorization')
      response = answer(200, {
        device_code: 'njd_secret',
        user_code: 'BCDF-GHJK',
        verification_uri: `${issuer}/device`,
        verification_uri_complete: `${issuer}/device?user_code=BCDF-GHJK`,
        expires_in: 600,
        interval: 5,
      });
    else if (path === '/v1/oauth/revoke') {
      const family = refreshes.get(fields.token ?? '')?.family;
      if (family) family.ended = true;
      response = answer(200, {});
    } else response = api(headers.get('authorization'));
    const body = await response.clone().json();
    log.push({ path, fields, key, error: body.error?.code ?? body.error ?? null });
    return response;
  }

  const send: typeof fetch = async (input, init = {}) => {
    const { pathname } = new URL(String(input));
    return intercept(pathname, () => serve(pathname, init));
  };

  return {
    fetch: send,
    log,
    issuer,
    /** The requests to the token endpoint that were refreshes. */
    refreshes: () => log.filter(({ fields }) => fields.grant_type === 'refresh_token'),
    disturb(next: Interceptor | null) {
      intercept = next ?? ((_, arrive) => arrive());
    },
    /** The answers of the next polls of a device; then it is approved. */
    answerDevice(steps: string[]) {
      device = steps;
    },
    expireAccess() {
      for (const each of access.values()) each.expired = true;
    },
    /** The creator disconnects on the dashboard. */
    endGrants() {
      for (const { family } of refreshes.values()) family.ended = true;
    },
    /** The creator approves: the address that the browser is sent to. */
    approve(url: string, creatorId = 'crt_1'): string {
      const query = new URL(url).searchParams;
      const code = `njc_secret_${codes.size + 1}`;
      codes.set(code, { creatorId, challenge: query.get('code_challenge') ?? '' });
      const back = new URL(query.get('redirect_uri') ?? '');
      for (const [name, value] of Object.entries({ code, state: query.get('state') ?? '', iss: issuer }))
        back.searchParams.set(name, value);
      return back.href;
    },
  };
}

import type { FastifyRequest } from 'fastify';
import { type AppRow, type Apps, basicCredentials, type Credentials } from '../../apps/index.ts';
import { OAuthError } from './errors.ts';

/** RFC 6749, section 2.3: an app authenticates by HTTP Basic or by fields of the body, never both. */
export interface ClientFields {
  readonly client_id?: string | null | undefined;
  readonly client_secret?: string | null | undefined;
}

const challenge = { 'www-authenticate': 'Basic realm="Namjai", charset="UTF-8"' };

/** A public app (RFC 6749, section 2.1) identifies itself by its `client_id` alone. */
export async function authenticateClient(apps: Apps, request: FastifyRequest, body: ClientFields): Promise<AppRow> {
  const credentials = clientCredentials(request, body);
  const verdict = await apps.authenticate(credentials, request.ip);
  if ('app' in verdict) {
    // A public app has proven nothing: whoever knows its id can call in its name.
    if (credentials.clientSecret !== undefined) request.clientId = verdict.app.id;
    return verdict.app;
  }
  switch (verdict.refused) {
    case 'throttled':
      throw new OAuthError('too_many_requests', undefined, { 'retry-after': String(verdict.retryAfterSeconds) });
    case 'suspended':
      throw new OAuthError('invalid_client', 'The app is suspended.', challenge);
    case 'secret_missing':
      if (request.headers.authorization === undefined)
        throw new OAuthError('invalid_request', 'client_secret is required, unless the client_id is of a public app.');
      throw new OAuthError('invalid_client', 'The client_secret is missing.', challenge);
    case 'invalid':
      throw new OAuthError('invalid_client', 'The client_id or client_secret is wrong.', challenge);
  }
}

function clientCredentials(request: FastifyRequest, body: ClientFields): Credentials {
  const basic = basicCredentials(request);
  if (typeof basic === 'object') {
    if (body.client_secret)
      throw new OAuthError('invalid_request', 'Send the client_secret with HTTP Basic or in the body, not both.');
    if (body.client_id && body.client_id !== basic.clientId)
      throw new OAuthError('invalid_request', 'The client_id of the body is not that of HTTP Basic.');
    // RFC 6749, section 2.3.1: an empty secret is none.
    return { clientId: basic.clientId, clientSecret: basic.clientSecret || undefined };
  }
  // Another scheme without body fields counts as a failed authentication (RFC 6749, section 5.2).
  if (basic === 'malformed' || (request.headers.authorization !== undefined && !body.client_secret))
    throw new OAuthError('invalid_client', 'The Authorization header is not well-formed HTTP Basic.', challenge);
  return { clientId: required(body, 'client_id'), clientSecret: body.client_secret || undefined };
}

/** For what a public app may not do: anybody can send its `client_id`. */
export async function authenticateConfidential(...of: Parameters<typeof authenticateClient>): Promise<AppRow> {
  const app = await authenticateClient(...of);
  if (app.public === 1) throw new OAuthError('invalid_client', 'A public app cannot do this.', challenge);
  return app;
}

export function required<Name extends string>(
  body: { readonly [N in Name]?: string | null | undefined },
  name: Name,
): string {
  const value = body[name];
  if (!value) throw new OAuthError('invalid_request', `${name} is required.`);
  return value;
}

import type { FastifyInstance } from 'fastify';
import type { TSchema } from 'typebox';
import { errorResponses } from '../../errors.ts';
import { Type } from '../../platform/http/type.ts';
import type { Apps } from '../apps/index.ts';
import type { Keys } from './keys/service.ts';
import { allScopes } from './scopes.ts';
import { exampleCredentials } from './token/schemas.ts';
import { grantTypes } from './token/service.ts';

export interface MetadataParts {
  readonly keys: Keys;
  readonly apps: Pick<Apps, 'cliClientId'>;
  readonly baseUrl: string;
  readonly authUrl: string;
}

const text = Type.String();

const example = {
  ...serverMetadata('https://api.tips.example', 'https://tips.example'),
  namjai_cli_client_id: exampleCredentials.client_id,
};

const schemaOf = (value: unknown): TSchema =>
  Array.isArray(value) ? Type.Array(text) : typeof value === 'boolean' ? Type.Boolean() : text;

const ServerMetadata = Type.Object(
  Object.fromEntries(Object.entries(example).map(([name, value]) => [name, schemaOf(value)])),
  { title: 'ServerMetadata' },
);

/** Lists the public fields, so that the serializer drops any other field of a key. */
const KeySet = Type.Object(
  {
    keys: Type.Array(Type.Object({ kty: text, crv: text, x: text, y: text, kid: text, alg: text, use: text })),
  },
  { title: 'KeySet' },
);

/** RFC 8414, RFC 9207 and RFC 7517. */
export function metadataRoutes(app: FastifyInstance, { keys, apps, baseUrl, authUrl }: MetadataParts): void {
  const metadata = serverMetadata(baseUrl, authUrl);

  app.route({
    method: 'GET',
    url: '/.well-known/oauth-authorization-server',
    schema: {
      operationId: 'getServerMetadata',
      summary: 'Authorization server metadata',
      description:
        'RFC 8414. Where everything of OAuth is, and what is supported. `namjai_cli_client_id` is the public app of the ' +
        'command line, which every server has.',
      tags: ['OAuth'],
      response: { 200: ServerMetadata, ...errorResponses('headers_too_large', 'internal_error', 'upstream_failed') },
      responseExample: example,
    },
    handler: async (_request, reply) =>
      reply
        .header('access-control-allow-origin', '*')
        .header('cache-control', 'public, max-age=300')
        .send({ ...metadata, namjai_cli_client_id: await apps.cliClientId() }),
  });

  app.route({
    method: 'GET',
    url: '/.well-known/jwks.json',
    schema: {
      operationId: 'getKeySet',
      summary: 'Keys that access tokens are signed with',
      description:
        'RFC 7517. A new key is in the set before it signs, a retired one until its last token has ended. Whether a ' +
        'token still works is known to this server alone: introspect it.',
      tags: ['OAuth'],
      response: { 200: KeySet, ...errorResponses('headers_too_large', 'internal_error', 'upstream_failed') },
      responseExample: {
        keys: [{ kty: 'EC', crv: 'P-256', x: '…', y: '…', kid: 'k3Jb…', alg: 'ES256', use: 'sig' }],
      },
    },
    handler: async (_request, reply) =>
      reply
        .header('access-control-allow-origin', '*')
        .header('cache-control', 'public, max-age=15')
        .send(await keys.publicSet()),
  });
}

function serverMetadata(baseUrl: string, authUrl: string) {
  const methods = ['client_secret_basic', 'client_secret_post'];
  return {
    issuer: authUrl,
    authorization_endpoint: `${authUrl}/oauth/authorize`,
    token_endpoint: `${baseUrl}/v1/oauth/token`,
    device_authorization_endpoint: `${baseUrl}/v1/oauth/device_authorization`,
    revocation_endpoint: `${baseUrl}/v1/oauth/revoke`,
    introspection_endpoint: `${baseUrl}/v1/oauth/introspect`,
    jwks_uri: `${authUrl}/.well-known/jwks.json`,
    service_documentation: `${authUrl}/docs`,
    scopes_supported: allScopes,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: Object.keys(grantTypes),
    token_endpoint_auth_methods_supported: [...methods, 'none'],
    revocation_endpoint_auth_methods_supported: [...methods, 'none'],
    introspection_endpoint_auth_methods_supported: methods,
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    ui_locales_supported: ['en', 'th'],
  };
}

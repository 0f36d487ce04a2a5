import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { actAs } from '../../../platform/http/act-as.ts';
import {
  idempotencyKey,
  idempotencyKeyHeader,
  idempotencyKeyRule,
  isIdempotencyKeyForm,
} from '../../../platform/http/idempotency-key.ts';
import { Type } from '../../../platform/http/type.ts';
import type { Platform } from '../../../platform/platform.ts';
import type { Apps } from '../../apps/index.ts';
import { deviceRoute } from '../device/routes.ts';
import type { Devices } from '../device/service.ts';
import { TokenResponse } from '../token-response.ts';
import { useOAuthBodies } from './bodies.ts';
import { authenticateClient, authenticateConfidential, required } from './client.ts';
import { OAuthError, oauthConfig, oauthErrors } from './errors.ts';
import { clientFields, exampleCredentials, Introspection, type OptionalText, TokenReference } from './schemas.ts';
import { grantTypes, type TokenEndpoint } from './service.ts';

export interface OAuthRoutesParts extends Pick<Platform, 'origins'> {
  readonly apps: Apps;
  readonly devices: Devices;
  readonly tokenEndpoint: TokenEndpoint;
}

const grantTypeNames = Object.keys(grantTypes);
const grantTypeFields: Record<string, OptionalText> = Object.assign(
  {},
  ...Object.values(grantTypes).map(({ fields }) => fields),
);

const TokenRequest = Type.Object(
  {
    grant_type: Type.String({ description: grantTypeNames.map((name) => `\`${name}\``).join(' or ') }),
    ...clientFields,
    ...grantTypeFields,
  },
  { title: 'TokenRequest' },
);

/** In a separate Fastify scope, because these bodies can be forms. */
export function oauthRoutes(instance: FastifyInstance, parts: OAuthRoutesParts): void {
  instance.register(async (scope) => {
    useOAuthBodies(scope);
    scope.addHook('onRequest', (request, reply, done) => {
      reply.header('pragma', 'no-cache');
      done(queryProblem(request));
    });
    scope.addHook(
      'preHandler',
      actAs(parts.origins, ({ clientId }) => clientId),
    );
    deviceRoute(scope, parts);
    routes(scope, parts);
  });
}

function routes(instance: FastifyInstance, { apps, tokenEndpoint }: OAuthRoutesParts): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>();

  app.route({
    method: 'POST',
    url: '/v1/oauth/token',
    config: oauthConfig,
    schema: {
      operationId: 'issueToken',
      summary: 'Exchange a code, refresh, or fetch the tokens of a device',
      description:
        'A public app sends its `client_id` alone, any other its secret too, from its server only. Every refresh answers a ' +
        'new refresh token; store it and stop using the old one. Using an old one again ends the whole family. A code works for five minutes and once.',
      tags: ['OAuth'],
      headers: idempotencyKeyHeader(
        'With `refresh_token`: makes it repeatable. 1 to 255 visible ASCII characters, new for each refresh and stored ' +
          'before it is sent. The same refresh token with the same key, within 24 hours and while the new refresh token ' +
          'is unused, gets another pair in place of the one that was lost.',
        ['b0a1c2d3-4e5f-4a6b-8c7d-9e0f1a2b3c4d'],
      ),
      body: TokenRequest,
      requestForms: true,
      requestExamples: Object.fromEntries(
        Object.entries(grantTypes).map(([name, { example }]) => [
          name,
          { summary: example.summary, value: { grant_type: name, ...example.value } },
        ]),
      ),
      response: {
        200: TokenResponse,
        ...oauthErrors(
          'invalid_grant',
          ...Object.values(grantTypes).flatMap(({ errors }) => errors),
          'unsupported_grant_type',
        ),
      },
      responseExample: {
        access_token: 'eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCIs…',
        refresh_token: 'njr_…',
        token_type: 'Bearer',
        expires_in: 3600,
        scope: 'profile.read tips.read',
      },
    },
    preValidation: (request, _reply, done) => {
      done(
        isIdempotencyKeyForm(request)
          ? undefined
          : new OAuthError('invalid_request', `Idempotency-Key ${idempotencyKeyRule}.`),
      );
    },
    handler: async (request) => {
      const issue = tokenEndpoint.read(request.body, idempotencyKey(request));
      const client = await authenticateClient(apps, request, request.body);
      return issue(client);
    },
  });

  app.route({
    method: 'POST',
    url: '/v1/oauth/revoke',
    config: oauthConfig,
    schema: {
      operationId: 'revokeToken',
      summary: 'Disconnect from a creator',
      description:
        'RFC 7009. Any token of the app, also a used or expired one, ends the whole grant at once: every token, code ' +
        'and socket under it. Of a public app it ends that device’s connection, and the grant with the last. An unknown token or another app’s is answered 200 and changes nothing.',
      tags: ['OAuth'],
      body: TokenReference,
      requestForms: true,
      requestExample: { ...exampleCredentials, token: 'njr_…' },
      response: {
        200: Type.Object({}, { description: 'Whatever it was, it does not work any more' }),
        ...oauthErrors(),
      },
      responseExample: {},
    },
    handler: async (request) => {
      const token = required(request.body, 'token');
      const client = await authenticateClient(apps, request, request.body);
      await tokenEndpoint.revoke(client, token);
      // The RFC needs no body, but some clients parse every response as JSON.
      return {};
    },
  });

  app.route({
    method: 'POST',
    url: '/v1/oauth/introspect',
    config: oauthConfig,
    schema: {
      operationId: 'introspectToken',
      summary: 'What a token is worth right now',
      description: 'RFC 7662. A dead token and another app’s are both `{"active":false}`.',
      tags: ['OAuth'],
      body: TokenReference,
      requestForms: true,
      requestExample: { ...exampleCredentials, token: 'eyJhbGciOiJFUzI1NiIsInR5cCI6ImF0K2p3dCIs…' },
      response: { 200: Introspection, ...oauthErrors() },
      responseExample: {
        active: true,
        scope: 'profile.read tips.read',
        client_id: exampleCredentials.client_id,
        username: 'mali',
        token_type: 'Bearer',
        exp: 1794718800,
        iat: 1794715200,
        sub: 'crt_01kaxk2t5v7f9sd3n8q6w4y0zr',
        aud: 'https://api.tips.example',
        iss: 'https://tips.example',
      },
    },
    handler: async (request) => {
      const token = required(request.body, 'token');
      const client = await authenticateConfidential(apps, request, request.body);
      return tokenEndpoint.introspect(client.id, token);
    },
  });
}

const fields = new Set([...Object.keys(TokenRequest.properties), ...Object.keys(TokenReference.properties)]);

/** Credentials in a URL would get into the logs of proxies. */
function queryProblem({ query }: FastifyRequest): OAuthError | undefined {
  const sent = Object.keys(query ?? {}).find((name) => fields.has(name));
  return sent === undefined
    ? undefined
    : new OAuthError('invalid_request', `Send ${sent} in the body, not in the address.`);
}

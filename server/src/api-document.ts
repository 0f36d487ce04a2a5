import type { RouteOptions } from 'fastify';
import type { Config } from './config.ts';
import { WebhookEvent, WebhookHeaders, webhookExamples } from './features/events/index.ts';
import { limitPolicy, limits, scopes } from './features/oauth/index.ts';
import { chaosKinds, chaosKindTable } from './features/sandbox/index.ts';
import { closeReasons } from './features/sockets/index.ts';
import type { DocumentInfo } from './platform/http/openapi.ts';

const scopeMeanings = Object.fromEntries(Object.entries(scopes).map(([name, { meaning }]) => [name, meaning]));

/** The parts of the API document that are not of a single route. */
export function apiDocument(config: Pick<Config, 'baseUrl' | 'authUrl'>): DocumentInfo {
  return {
    title: 'Namjai API',
    description:
      'Tips for creators. An app acts on behalf of a creator with an access token from the OAuth 2.0 authorization code flow.\n\n' +
      'Every answer carries `X-Request-Id`. Errors share one envelope, `{"error":{"code","message","request_id","details"?}}`. ' +
      'Unknown fields and parameters are ignored. Within /v1, fields, event types and error codes may be added, never removed or changed.',
    documentation: `${config.authUrl}/docs`,
    servers: [{ url: config.baseUrl, description: 'This server' }],
    tags: [
      { name: 'OAuth', description: 'Tokens for acting on behalf of a creator' },
      { name: 'Creator', description: 'Who the token represents, and their public profile' },
      { name: 'Tips', description: 'History, statistics, and recording tips that were paid elsewhere' },
      { name: 'Alerts', description: 'Test alerts on the overlay' },
      { name: 'Events', description: 'The event log and its socket' },
      {
        name: 'Webhooks',
        description:
          'Events sent to the app’s own server, signed by Standard Webhooks. Called with the app’s own credentials',
      },
    ],
    securitySchemes: {
      oauth2: {
        type: 'oauth2',
        description:
          'How an app gets its access token. Scopes are those that the creator approves. Programs without a browser ' +
          'use the device flow (RFC 8628), which OpenAPI 3.1 has no words for: begin at the ' +
          '`device_authorization_endpoint` of the server metadata.',
        flows: {
          authorizationCode: {
            authorizationUrl: `${config.authUrl}/oauth/authorize`,
            tokenUrl: `${config.baseUrl}/v1/oauth/token`,
            refreshUrl: `${config.baseUrl}/v1/oauth/token`,
            scopes: scopeMeanings,
          },
        },
      },
      bearer: {
        type: 'http',
        scheme: 'bearer',
        bearerFormat: 'JWT',
        description: 'An access token from POST /v1/oauth/token',
      },
      client: { type: 'http', scheme: 'basic', description: 'The app’s own client_id and client_secret' },
      socketToken: {
        type: 'apiKey',
        in: 'query',
        name: 'token',
        description: 'A token from GET /v1/socket/token; or none here, and the first frame carries it',
      },
    },
    brokenRule: { field: 'amount', message: 'must be greater than 0' },
    webhooks: {
      event: {
        operationId: 'receiveEvent',
        summary: 'An event, sent to a webhook',
        description:
          'Signed by Standard Webhooks 1.0. Any status from 200 to 299 is success; else it is sent again later.',
        tags: ['Webhooks'],
        headers: WebhookHeaders,
        body: WebhookEvent,
        examples: webhookExamples(),
      },
    },
    extensions: {
      'x-scopes': scopeMeanings,
      'x-close-codes': Object.fromEntries(Object.values(closeReasons).map(({ code, reason }) => [code, reason])),
    },
    describe: describeProtection,
  };
}

const chaosHeaderText = `Only for sandbox creators with chaos: the fault that was made on purpose (${chaosKinds
  .filter((kind) => chaosKindTable[kind].channel === 'call')
  .map((kind) => `\`${kind}\``)
  .join(', ')})`;

function describeProtection({ config }: RouteOptions): ReturnType<DocumentInfo['describe']> {
  if (config?.clientLimit) return { security: [{ client: [] }], ...describeLimit(config.clientLimit) };
  if (config?.clientAuth) return { security: [{ client: [] }, {}], headers: {} };
  const protection = config?.protection;
  if (config?.socketToken) return { security: [{ socketToken: [] }, {}], headers: {} };
  if (!protection) return { security: [], headers: {} };
  const { note, headers, ...described } = describeLimit(protection.limit);
  return {
    security: [{ oauth2: protection.scope ? [protection.scope] : [] }, { bearer: [] }],
    ...described,
    headers: { ...headers, 'Namjai-Chaos': chaosHeaderText },
    note: `${protection.scope ? `Scope: \`${protection.scope}\`. ` : ''}${note}`,
  };
}

function describeLimit(group: keyof typeof limits) {
  const { limit, windowMs, per } = limits[group];
  return {
    extensions: { 'x-rate-limit': { group, limit, window_seconds: windowMs / 1000 } },
    headers: {
      'RateLimit-Policy': `\`${limitPolicy(group)}\``,
      RateLimit: 'What is left now, and seconds until the oldest counted request leaves the window',
    },
    note: `Limit: ${limit} requests a minute for each ${per} (group \`${group}\`).`,
  };
}

import type { FastifySchema } from 'fastify';
import { Type } from '../../../platform/http/type.ts';
import { allScopes } from '../scopes.ts';

const AuthorizeQuery = Type.Object({
  client_id: Type.String({ description: 'The app', examples: ['app_01kaxk2t5v7f9sd3n8q6w4y0zr'] }),
  redirect_uri: Type.String({
    description: 'One of the registered addresses of the app, to the letter',
    examples: ['https://app.example/callback'],
  }),
  state: Type.String({
    description: 'A new random value each time: keep it, and compare it when the browser comes back',
    maxLength: 2048,
    examples: ['2dVqT0fKb1'],
  }),
  scope: Type.Optional(
    Type.String({
      description: `All scopes that the app needs, separated by spaces, of ${allScopes.map((scope) => `\`${scope}\``).join(', ')}. None: GET /v1/me only`,
      examples: ['profile.read tips.read'],
    }),
  ),
  response_type: Type.Optional(Type.Literal('code')),
  code_challenge: Type.Optional(
    Type.String({
      description: 'PKCE (RFC 7636)',
      pattern: '^[A-Za-z0-9_-]{43}$',
      examples: ['E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'],
    }),
  ),
  code_challenge_method: Type.Optional(Type.Literal('S256', { description: 'Required beside `code_challenge`' })),
});

/** The authorization page for the API document. The page checks its query itself (checks.ts). */
export const authorizeSchema = (authUrl: string): FastifySchema => ({
  operationId: 'authorize',
  summary: 'Ask the creator',
  description: [
    'The page where a creator approves the app: send their browser there. It always asks. Approving sets the scopes of',
    'the connection to exactly those asked for, so always send the full list.\n\n',
    'The browser comes back to `redirect_uri` with `code`, `state` and `iss` (RFC 9207), or with `error`,',
    '`error_description`, `state` and `iss`. `error` is `access_denied` (the creator said no), `invalid_request`,',
    '`invalid_scope`, `unsupported_response_type` or `unauthorized_client` (the app is suspended). Errors come back only',
    'once somebody is signed in.',
  ].join(' '),
  tags: ['OAuth'],
  servers: [{ url: authUrl, description: 'The pages of this server' }],
  querystring: AuthorizeQuery,
  responseType: 'text/html',
  response: {
    200: Type.String({ description: 'The page that asks the creator, or the one to sign in first' }),
    303: Type.Null({ description: 'Back to the app with an error, or to the sign-in page' }),
    400: Type.String({
      description: 'A page for the creator: `client_id` or `redirect_uri` is wrong, so nothing is sent back to the app',
    }),
  },
});

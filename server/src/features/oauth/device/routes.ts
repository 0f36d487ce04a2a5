import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import { Type } from '../../../platform/http/type.ts';
import type { Apps } from '../../apps/index.ts';
import { parseScopes } from '../scopes.ts';
import { authenticateClient } from '../token/client.ts';
import { OAuthError, oauthConfig, oauthErrors } from '../token/errors.ts';
import { clientFields, exampleCredentials, optionalText } from '../token/schemas.ts';
import type { Devices } from './service.ts';

export interface DeviceRouteParts {
  readonly apps: Apps;
  readonly devices: Devices;
}

const DeviceAuthorization = Type.Object(
  {
    device_code: Type.String({ description: 'For the device alone: it asks for its tokens with this code' }),
    user_code: Type.String({ description: 'To be shown: what the creator types', examples: ['BCDF-GHJK'] }),
    verification_uri: Type.String({ description: 'To be shown: where the creator types it' }),
    verification_uri_complete: Type.String({ description: 'The same with the code filled in, for a QR code' }),
    expires_in: Type.Integer({ description: 'Life of both codes in seconds', examples: [600] }),
    interval: Type.Integer({ description: 'Seconds to wait between requests for the tokens', examples: [5] }),
  },
  { title: 'DeviceAuthorization' },
);

export function deviceRoute(instance: FastifyInstance, { apps, devices }: DeviceRouteParts): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>();

  app.route({
    method: 'POST',
    url: '/v1/oauth/device_authorization',
    config: oauthConfig,
    schema: {
      operationId: 'authorizeDevice',
      summary: 'Connect a device without a browser',
      description:
        'RFC 8628. Show `user_code` and `verification_uri` to the creator, then ask the token endpoint for the tokens, no ' +
        'sooner than every `interval` seconds. At most 10 requests a minute from one address.',
      tags: ['OAuth'],
      body: Type.Object(
        { ...clientFields, scope: optionalText('Scopes, separated by spaces', ['profile.read tips.read']) },
        { title: 'DeviceAuthorizationRequest' },
      ),
      requestForms: true,
      requestExample: { client_id: exampleCredentials.client_id, scope: 'profile.read tips.read' },
      response: { 200: DeviceAuthorization, ...oauthErrors('invalid_scope') },
      responseExample: {
        device_code: 'njd_…',
        user_code: 'BCDF-GHJK',
        verification_uri: 'https://tips.example/device',
        verification_uri_complete: 'https://tips.example/device?user_code=BCDF-GHJK',
        expires_in: 600,
        interval: 5,
      },
    },
    handler: async (request) => {
      const client = await authenticateClient(apps, request, request.body);
      const { scopes, unknown } = parseScopes(request.body.scope ?? '');
      if (unknown.length > 0) throw new OAuthError('invalid_scope', 'scope names a scope that does not exist.');
      const { allowed, resetSeconds } = await devices.takeRequest(request.ip);
      if (!allowed) throw new OAuthError('too_many_requests', undefined, { 'retry-after': String(resetSeconds) });
      return devices.begin(client.id, scopes, request.ip);
    },
  });
}

import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import { Type } from '../../../platform/http/type.ts';
import type { WebSockets } from '../../../platform/http/websocket.ts';
import type { Origins } from '../../../platform/origin.ts';
import { answerTimeoutMs } from '../../../platform/safe-fetch.ts';
import { hashSecret } from '../../../platform/secrets.ts';
import { type Apps, basicCredentials } from '../../apps/index.ts';
import { clientErrors, createClientGuard } from '../endpoints/client-guard.ts';
import type { WebhookLimits } from '../endpoints/limits.ts';
import { listenerCloseReasons } from './close-reasons.ts';
import { ListenerFrame, ListenerResult } from './frames.ts';
import { type Listeners, maxUnanswered } from './listeners.ts';

export interface ListenRouteParts {
  readonly webSockets: WebSockets;
  readonly listeners: Listeners;
  readonly apps: Apps;
  readonly limits: WebhookLimits;
  readonly origins: Origins;
}

/** Webhooks for programs without a public address: a socket that the app opens. */
export function listenRoute(
  instance: FastifyInstance,
  { webSockets, listeners, apps, limits, origins }: ListenRouteParts,
): void {
  const { options, clientId } = createClientGuard(apps, limits, origins);
  instance.withTypeProvider<TypeBoxTypeProvider>().route({
    method: 'GET',
    url: '/v1/webhooks/listen',
    exposeHeadRoute: false,
    ...options('manage'),
    schema: {
      operationId: 'listenToWebhooks',
      summary: 'Deliveries without a public address, on a WebSocket',
      description,
      tags: ['Webhooks'],
      frames: { server: ListenerFrame, client: ListenerResult },
      response: { 101: Type.Null({ description: 'The WebSocket is open' }), ...clientErrors('upgrade_required') },
    },
    handler: (request, reply) => {
      const credentials = basicCredentials(request);
      const secretHash = typeof credentials === 'string' ? '' : hashSecret(credentials.clientSecret);
      const caller = { clientId: clientId(request), secretHash };
      listeners.accept(webSockets.accept(request, reply), caller, request.id);
    },
  });

  instance.addHook('preClose', () => listeners.closeAll('restart'));
}

const description = [
  'For development and for programs behind a firewall; `namjai listen` is such a program. An app has one listener: a newer',
  'connection replaces the older one. The first frame is `{"type":"ready","endpoint_id","secret"}`; the secret stays the',
  'same until it is rotated. Then `{"type":"delivery","id","headers","body"}` comes for each delivery: exactly what a',
  `webhook with an address would get, at most ${maxUnanswered} unanswered. Answer each within ${answerTimeoutMs / 1000} seconds with`,
  '`{"type":"result","id","status_code","duration_ms","error","response_body"}`: any 2xx is a success, anything else is',
  'sent again on the schedule of webhooks. `status_code` is null if there was no answer; then `error` says why.\n\n',
  'Events that happen while it is closed are not sent to it. What is pending waits 60 seconds after a close.\n\n',
  `Close codes: ${Object.values(listenerCloseReasons)
    .map(({ code, reason }) => `${code} ${reason}`)
    .join(' · ')}.`,
].join(' ');

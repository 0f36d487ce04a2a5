import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import { validationFailed } from '../../../errors.ts';
import { readCursor, writeCursor } from '../../../platform/cursor.ts';
import { Type } from '../../../platform/http/type.ts';
import type { Platform } from '../../../platform/platform.ts';
import type { Zone } from '../../../platform/zone.ts';
import type { Apps } from '../../apps/index.ts';
import { parseBound } from '../../tips/index.ts';
import { clientErrors, createClientGuard } from './client-guard.ts';
import { maxReplayed } from './deliveries.ts';
import { maxEndpoints } from './limits.ts';
import * as schemas from './schemas.ts';
import type { Webhooks } from './service.ts';

export interface WebhookRoutesParts extends Pick<Platform, 'origins' | 'vault' | 'zone'> {
  readonly webhooks: Webhooks;
  readonly apps: Apps;
}

const bodyErrors = ['body_too_large', 'unsupported_media_type', 'request_timeout', 'validation_failed'] as const;
const tags = ['Webhooks'];

export function webhookRoutes(instance: FastifyInstance, parts: WebhookRoutesParts): void {
  const { webhooks, apps, vault, zone } = parts;
  const app = instance.withTypeProvider<TypeBoxTypeProvider>();
  const { options, clientId } = createClientGuard(apps, webhooks.limits, parts.origins);
  const [manage, send] = [options('manage'), options('send')];
  const { deliveries } = webhooks;

  app.route({
    method: 'POST',
    url: '/v1/webhooks',
    ...manage,
    schema: {
      operationId: 'createWebhook',
      summary: 'Add a webhook',
      description: `From now on it gets the events of every creator whose grant to the app has \`events.subscribe\`. At most ${maxEndpoints} an app.`,
      tags,
      body: schemas.WebhookRequest,
      requestExample: { url: 'https://app.example/hooks/namjai', types: ['tip.created'] },
      response: { 201: schemas.NewWebhook, ...clientErrors(...bodyErrors) },
      responseExample: { ...schemas.webhookExample, secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw1P3uGm6xVQA=' },
    },
    handler: async (request, reply) => {
      const { url, types = null, description = null } = request.body;
      const webhook = await webhooks.add(clientId(request), { url, types, description });
      return reply.code(201).header('location', `/v1/webhooks/${webhook.id}`).send(webhook);
    },
  });

  app.route({
    method: 'GET',
    url: '/v1/webhooks',
    ...manage,
    schema: {
      operationId: 'listWebhooks',
      summary: 'The app’s webhooks',
      description: 'Oldest first, without their secrets, in one answer: `next_cursor` is always null.',
      tags,
      querystring: schemas.WebhookQuery,
      response: { 200: schemas.WebhookPage, ...clientErrors('validation_failed') },
      responseExample: { data: [schemas.webhookExample], next_cursor: null },
    },
    handler: async (request) => ({
      data: await webhooks.list(clientId(request), request.query.kind),
      next_cursor: null,
    }),
  });

  app.route({
    method: 'GET',
    url: '/v1/webhooks/:id',
    ...manage,
    schema: {
      operationId: 'getWebhook',
      summary: 'One webhook',
      description: 'Whether it is enabled and, if not, the reason. The secret is shown only when it is made.',
      tags,
      params: schemas.WebhookParams,
      response: { 200: schemas.Webhook, ...clientErrors('not_found') },
      responseExample: schemas.webhookExample,
    },
    handler: (request) => webhooks.get(clientId(request), request.params.id),
  });

  app.route({
    method: 'PATCH',
    url: '/v1/webhooks/:id',
    ...manage,
    schema: {
      operationId: 'changeWebhook',
      summary: 'Change a webhook',
      description:
        'What is left out stays as it is; `types: null` asks for all types, `description: null` removes the description.',
      tags,
      params: schemas.WebhookParams,
      body: schemas.WebhookChange,
      requestExample: { enabled: true },
      response: { 200: schemas.Webhook, ...clientErrors('not_found', ...bodyErrors) },
      responseExample: schemas.webhookExample,
    },
    handler: (request) => {
      const { url, types, description, enabled } = request.body;
      return webhooks.change(clientId(request), request.params.id, {
        ...(typeof url === 'string' ? { url } : {}),
        ...(types === undefined ? {} : { types }),
        ...(description === undefined ? {} : { description }),
        ...(typeof enabled === 'boolean' ? { enabled } : {}),
      });
    },
  });

  app.route({
    method: 'DELETE',
    url: '/v1/webhooks/:id',
    ...manage,
    schema: {
      operationId: 'deleteWebhook',
      summary: 'Remove a webhook',
      description: 'Nothing more is sent to it, and its deliveries are forgotten.',
      tags,
      params: schemas.WebhookParams,
      response: { 204: Type.Null({ description: 'It is gone' }), ...clientErrors('not_found') },
    },
    handler: async (request, reply) => {
      await webhooks.remove(clientId(request), request.params.id);
      return reply.code(204).send(null);
    },
  });

  app.route({
    method: 'POST',
    url: '/v1/webhooks/:id/rotate-secret',
    ...manage,
    schema: {
      operationId: 'rotateWebhookSecret',
      summary: 'Replace the secret',
      description:
        'For 24 hours deliveries are signed with both, so that the receiver can change over in its own time.',
      tags,
      params: schemas.WebhookParams,
      response: { 200: schemas.RotatedSecret, ...clientErrors('not_found') },
      responseExample: {
        secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw1P3uGm6xVQA=',
        previous_valid_until: '2026-11-16T04:00:00.000Z',
      },
    },
    handler: (request) => webhooks.rotateSecret(clientId(request), request.params.id),
  });

  app.route({
    method: 'POST',
    url: '/v1/webhooks/:id/ping',
    ...send,
    schema: {
      operationId: 'pingWebhook',
      summary: 'Send a ping',
      description: 'Sends `webhook.ping`, whatever types the webhook asks for.',
      tags,
      params: schemas.WebhookParams,
      response: { 202: schemas.Delivery, ...clientErrors('not_found') },
      responseExample: { ...schemas.deliveryExample, event_type: 'webhook.ping' },
    },
    handler: async (request, reply) =>
      reply.code(202).send(await deliveries.ping(clientId(request), request.params.id)),
  });

  app.route({
    method: 'GET',
    url: '/v1/webhooks/:id/deliveries',
    ...manage,
    schema: {
      operationId: 'listDeliveries',
      summary: 'What was sent',
      description:
        'Newest first. Deliveries are kept 30 days. With `status`, a page ends after 1,000 deliveries of any status: it ' +
        'may be short, or empty, while there is a `next_cursor`.',
      tags,
      params: schemas.WebhookParams,
      querystring: schemas.DeliveryQuery,
      response: { 200: schemas.DeliveryPage, ...clientErrors('not_found', 'validation_failed') },
      responseExample: { data: [schemas.deliveryExample], next_cursor: null },
    },
    handler: async (request) => {
      const { limit = 50, cursor, status } = request.query;
      const { id } = request.params;
      // A cursor contains the filter of its first page. Requests repeat that filter or leave it out.
      const position = cursor === undefined ? ` ${status ?? ''}` : readCursor(vault, id, cursor);
      const [before, filter] = position?.split(' ') ?? [];
      if (position === undefined || (status !== undefined && status !== filter))
        throw validationFailed({ field: 'cursor', message: 'must be the next_cursor of an earlier page of this list' });
      const page = await deliveries.page(clientId(request), id, {
        limit,
        before: before || null,
        status: schemas.readStatus(filter),
      });
      return {
        data: page.deliveries,
        next_cursor: page.next && writeCursor(vault, id, `${page.next} ${filter ?? ''}`),
      };
    },
  });

  app.route({
    method: 'POST',
    url: '/v1/webhooks/:id/deliveries/:delivery/retry',
    ...send,
    schema: {
      operationId: 'retryDelivery',
      summary: 'Send a delivery again',
      description: 'At once, and on the whole schedule if that fails. Not after the creator’s grant has ended.',
      tags,
      params: schemas.DeliveryParams,
      response: { 202: schemas.Delivery, ...clientErrors('not_found', 'validation_failed') },
      responseExample: schemas.deliveryExample,
    },
    handler: async (request, reply) => {
      const { id, delivery } = request.params;
      return reply.code(202).send(await deliveries.retry(clientId(request), id, delivery));
    },
  });

  app.route({
    method: 'POST',
    url: '/v1/webhooks/:id/replay',
    ...send,
    schema: {
      operationId: 'replayDeliveries',
      summary: 'Send a span again',
      description: `Everything in the list of deliveries from \`from\` to \`to\` that succeeded, failed or was skipped, except pings and what belongs to a grant that has ended. At most ${maxReplayed.toLocaleString('en')} of the list at once: \`next_from\` tells where the next replay begins.`,
      tags,
      params: schemas.WebhookParams,
      body: schemas.ReplayRequest,
      requestExample: { from: '2026-11-15T00:00:00Z', to: '2026-11-15T04:00:00Z' },
      response: { 202: schemas.Replay, ...clientErrors('not_found', ...bodyErrors) },
      responseExample: { queued: 12, next_from: null },
    },
    handler: async (request, reply) => {
      const span = readSpan(request.body, zone);
      return reply.code(202).send(await deliveries.replay(clientId(request), request.params.id, span));
    },
  });
}

function readSpan(body: { from: string; to: string }, zone: Zone): { from: number; to: number } {
  const from = parseBound(body.from, 'from', zone);
  const to = parseBound(body.to, 'to', zone);
  const problems = Object.entries({ from, to })
    .filter(([, instant]) => instant === undefined)
    .map(([field]) => ({ field, message: 'must be a date that exists, as YYYY-MM-DD or RFC 3339 with an offset' }));
  if (from === undefined || to === undefined) throw validationFailed(...problems);
  if (from > to) throw validationFailed({ field: 'from', message: 'must not be after to' });
  return { from: Math.max(from, 0), to: Math.max(to, 0) };
}

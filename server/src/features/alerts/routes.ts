import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import { type Protect, protectedErrors } from '../oauth/index.ts';
import type { TipRules } from '../tips/index.ts';
import { Alert, alertRequest } from './schemas.ts';
import type { Alerts } from './service.ts';

export interface AlertRoutesParts {
  readonly alerts: Alerts;
  readonly protect: Protect;
  readonly rules: TipRules;
}

export function alertRoutes(instance: FastifyInstance, { alerts, protect, rules }: AlertRoutesParts): void {
  instance.withTypeProvider<TypeBoxTypeProvider>().route({
    method: 'POST',
    url: '/v1/alerts',
    ...protect({ scope: 'alerts.create', limit: 'alerts' }),
    schema: {
      operationId: 'sendAlert',
      summary: 'Send a test alert',
      description:
        'Shows a test alert on the creator’s overlay and sends `alert.test` to event subscribers. No tip is recorded and no statistics change. ' +
        'Every field is optional, and so is the body; what is missing gets a sample value.',
      tags: ['Alerts'],
      body: alertRequest(rules),
      bodyOptional: true,
      requestExample: { name: 'SOMCHAI', amount: 99, message: 'Testing' },
      response: {
        201: Alert,
        ...protectedErrors(
          'alerts.create',
          'body_too_large',
          'unsupported_media_type',
          'request_timeout',
          'validation_failed',
        ),
      },
      responseExample: {
        id: 'alt_01kaxk2t5v7f9sd3n8q6w4y0zr',
        type: 'alert.test',
        name: 'SOMCHAI',
        display_name: null,
        amount: 99,
        amount_minor: 9900,
        currency: 'THB',
        message: 'Testing',
        overlays_connected: 1,
        created_at: '2026-11-15T04:00:00.000Z',
      },
    },
    preValidation: (request, _reply, done) => {
      request.body ??= {};
      done();
    },
    handler: async ({ grant, body }, reply) => {
      const alert = await alerts.send({
        creatorId: grant.creatorId,
        name: body.name,
        displayName: body.display_name,
        amount: body.amount,
        message: body.message,
      });
      return reply.code(201).send(alert);
    },
  });
}

import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import { Alert, alertExample } from '../events/index.ts';
import { callerTrace, type Protect, protectedErrors } from '../oauth/index.ts';
import type { TipRules } from '../tips/index.ts';
import { alertRequest } from './schemas.ts';
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
      responseExample: alertExample,
    },
    preValidation: (request, _reply, done) => {
      request.body ??= {};
      done();
    },
    handler: async (request, reply) => {
      const { grant, body } = request;
      const { alert } = await alerts.send({
        creatorId: grant.creatorId,
        name: body.name,
        displayName: body.display_name,
        amount: body.amount,
        message: body.message,
        trace: callerTrace(request),
      });
      return reply.code(201).send(alert);
    },
  });
}

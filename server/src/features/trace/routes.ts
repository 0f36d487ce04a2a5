import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyInstance } from 'fastify';
import { Type } from '../../platform/http/type.ts';
import { createPauses } from '../../platform/pauses.ts';
import { type Protect, protectedErrors } from '../oauth/index.ts';
import { Trace, traceExample } from './schemas.ts';
import { type Traces, toTrace } from './service.ts';

export interface TraceRoutesParts {
  readonly traces: Traces;
  readonly protect: Protect;
}

export function traceRoutes(instance: FastifyInstance, { traces, protect }: TraceRoutesParts): void {
  const app = instance.withTypeProvider<TypeBoxTypeProvider>();

  app.route({
    method: 'GET',
    url: '/v1/tips/:id/trace',
    ...protect({ scope: 'tips.read', limit: 'read' }),
    schema: {
      operationId: 'getTipTrace',
      summary: 'What happened to a tip',
      description:
        'From the request that recorded it to the overlay and to each attempt of your own webhooks, in order of time; and what has ' +
        'not happened, with the reason. Of more than 20 later events the first are told, of more than 300 attempts the newest of ' +
        'each delivery. Other apps’ deliveries are not told. After 30 days `recorded`, the alert’s outcome and ' +
        '`voided` are left.',
      tags: ['Tips'],
      params: Type.Object({ id: Type.String({ description: 'Id of the tip' }) }),
      response: { 200: Type.Unsafe<string>({ ...Trace }), ...protectedErrors('tips.read', 'not_found') },
      responseExample: traceExample,
    },
    handler: async ({ grant, params }, reply) => {
      const view = await traces.ofTip(grant.creatorId, params.id, { clientId: grant.clientId });
      await createPauses(grant.creatorId)();
      return reply.type('application/json; charset=utf-8').send(JSON.stringify(toTrace(view)));
    },
  });
}

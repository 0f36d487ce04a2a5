import type { FastifyInstance } from 'fastify';
import { Type } from '../../platform/http/type.ts';
import { Goal, goalExample } from '../events/index.ts';
import { type Protect, protectedErrors } from '../oauth/index.ts';
import type { Goals } from './service.ts';

const GoalList = Type.Object({ data: Type.Array(Goal) }, { title: 'GoalList' });

export function goalRoutes(app: FastifyInstance, { goals, protect }: { goals: Goals; protect: Protect }): void {
  app.route({
    method: 'GET',
    url: '/v1/goals',
    ...protect({ scope: 'tips.read', limit: 'read' }),
    schema: {
      operationId: 'listGoals',
      summary: 'Open goals',
      description:
        'The goals that the creator has made and that have not ended, at most ten. `raised` is exact: it follows every tip and every void at once.',
      tags: ['Tips'],
      response: { 200: GoalList, ...protectedErrors('tips.read') },
      responseExample: { data: [goalExample] },
    },
    handler: async ({ grant }) => ({ data: await goals.open(grant.creatorId) }),
  });
}

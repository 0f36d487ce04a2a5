import type { FastifyInstance } from 'fastify';
import type { Database } from '../../platform/db/database.ts';
import { createReadiness } from './readiness.ts';

export interface HealthParts {
  readonly db: Database;
  /** True once the server has begun to shut down. */
  readonly draining: () => boolean;
}

/** For load balancers and process managers. */
export function healthRoutes(app: FastifyInstance, { db, draining }: HealthParts): void {
  const isReady = createReadiness(() => db.ping());
  app.get('/healthz', async () => ({ status: 'ok' }));

  app.get('/readyz', async (_request, reply) => {
    if (draining()) return reply.code(503).send({ status: 'draining' });
    if (await isReady()) return { status: 'ready' };
    return reply.code(503).send({ status: 'storage unavailable' });
  });
}

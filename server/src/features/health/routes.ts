import type { FastifyInstance } from 'fastify';
import type { Database } from '../../platform/db/database.ts';
import type { Log } from '../../platform/log.ts';
import { createOutage } from '../../platform/outages.ts';
import { createReadiness } from './readiness.ts';

export interface HealthParts {
  readonly db: Database;
  readonly log: Log;
  /** True once the server has begun to shut down. */
  readonly draining: () => boolean;
  /** True while this node lacks the key that seals secrets. */
  readonly lacksSecretKey: () => boolean;
}

/** For load balancers and process managers. */
export function healthRoutes(app: FastifyInstance, { db, log, draining, lacksSecretKey }: HealthParts): void {
  const problemOf = createReadiness(() => db.ping());
  const outage = createOutage(log, { away: 'not ready', back: 'ready again' });
  app.get('/healthz', async () => ({ status: 'ok' }));

  app.get('/readyz', async (_request, reply) => {
    if (draining()) return reply.code(503).send({ status: 'draining' });
    if (lacksSecretKey()) return reply.code(503).send({ status: 'secret key replaced' });
    const reason = await problemOf();
    if (reason === null) {
      outage.back();
      return { status: 'ready' };
    }
    const status = 'storage unavailable';
    outage.away({ status, reason });
    return reply.code(503).send({ status, reason });
  });
}

import type { FastifyRequest } from 'fastify';
import { readTraceParent } from '../../platform/http/traceparent.ts';

/** The trace that the app of an authenticated request names, for the events that the request causes. */
export function callerTrace({
  grant,
  headers: { traceparent },
}: FastifyRequest): { clientId: string; traceparent: string } | undefined {
  if (typeof traceparent !== 'string' || !readTraceParent(traceparent)) return undefined;
  return { clientId: grant.clientId, traceparent };
}

import type { FastifyReply, FastifyRequest } from 'fastify';
import { errorCodeOf } from '../../../platform/http/access-log.ts';
import { redactText, redactUrl } from '../../../platform/redact.ts';
import type { FailureRow } from './repo.ts';

const maxPath = 300;
const maxFields = 10;

/**
 * What the developer may see of a request that failed: no body, no value of the query, no credential. `chaos`: it failed on
 * purpose.
 */
export const toFailure = (request: FastifyRequest, reply: FastifyReply, at: number, chaos: boolean): FailureRow => ({
  id: request.id,
  at,
  method: request.method,
  path: cut(redactUrl(request.url)),
  status: reply.statusCode,
  code: `${errorCodeOf(reply) ?? ''}${chaos ? ' (chaos)' : ''}`,
  fields: JSON.stringify(
    [...new Set(reply.errorDetails?.map(({ field }) => field && plainName(field)))].slice(0, maxFields),
  ),
});

const cut = (path: string): string => (path.length > maxPath ? `${path.slice(0, maxPath)}…` : path);

/** The caller may have chosen the name of a field. */
const plainName = (name: string): string => (/^[\w.[\]-]{1,64}$/.test(name) && redactText(name) === name ? name : '…');

import type { FastifyRequest } from 'fastify';

const parsed = new WeakMap<FastifyRequest, URLSearchParams>();

/**
 * The parameters in the address of a request. Parsed once, because a stranger can send 60,000 characters of them, and the
 * words of a page ask for the language again and again. Not to be changed.
 */
export function queryOf(request: FastifyRequest): URLSearchParams {
  const known = parsed.get(request);
  if (known) return known;
  const mark = request.url.indexOf('?');
  const query = new URLSearchParams(mark < 0 ? '' : request.url.slice(mark + 1));
  parsed.set(request, query);
  return query;
}

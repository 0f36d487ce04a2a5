import type { FastifyRequest } from 'fastify';

/** How often a header was sent. Node keeps the first of two Authorization headers; a request with two is refused. */
export function countHeader({ raw: { rawHeaders } }: FastifyRequest, name: string): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2)
    if (rawHeaders[i]?.length === name.length && rawHeaders[i]?.toLowerCase() === name) count += 1;
  return count;
}

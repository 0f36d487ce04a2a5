import type { FastifyRequest } from 'fastify';
import { Type } from './type.ts';

export const idempotencyKeyRule = 'must have 1 to 255 visible ASCII characters';

/** The header `Idempotency-Key` of a route's schema. */
export const idempotencyKeyHeader = (description: string, examples: string[]) =>
  Type.Object({ 'idempotency-key': Type.Optional(Type.String({ description, examples })) });

export const idempotencyKey = (request: FastifyRequest): string | undefined => {
  const value = request.headers['idempotency-key'];
  return typeof value === 'string' ? value : undefined;
};

export const isIdempotencyKeyForm = (request: FastifyRequest): boolean => {
  const value = request.headers['idempotency-key'];
  return value === undefined || /^[\x21-\x7e]{1,255}$/.test(String(value));
};

/** An error as plain data, which the writing thread can send. */
import { type StorageProblem, StorageUnavailable, UniqueViolation } from './database.ts';

export interface SerializedError {
  readonly kind: 'unique' | 'unavailable' | 'other';
  readonly reason?: StorageProblem;
  readonly message: string;
  readonly stack: string | undefined;
}

export function serializeError(error: unknown): SerializedError {
  const kind =
    error instanceof UniqueViolation ? 'unique' : error instanceof StorageUnavailable ? 'unavailable' : 'other';
  if (!(error instanceof Error)) return { kind, message: String(error), stack: undefined };
  const { message, stack } = error;
  return error instanceof StorageUnavailable
    ? { kind, reason: error.reason, message, stack }
    : { kind, message, stack };
}

export function deserializeError({ kind, reason = 'other', message, stack }: SerializedError): Error {
  const types = { unique: UniqueViolation, unavailable: StorageUnavailable, other: Error };
  const error = new types[kind](message, { reason });
  if (stack !== undefined) error.stack = stack;
  return error;
}

/** An error as plain data, which the writing thread can send. */
import { OwnerGone, type StorageProblem, StorageUnavailable, UniqueViolation } from './database.ts';

const types = { unique: UniqueViolation, unavailable: StorageUnavailable, gone: OwnerGone, other: Error };

export interface SerializedError {
  readonly kind: keyof typeof types;
  readonly reason?: StorageProblem;
  readonly message: string;
  readonly stack: string | undefined;
}

export function serializeError(error: unknown): SerializedError {
  const kind = kindOf(error);
  if (!(error instanceof Error)) return { kind, message: String(error), stack: undefined };
  const { message, stack } = error;
  return error instanceof StorageUnavailable
    ? { kind, reason: error.reason, message, stack }
    : { kind, message, stack };
}

function kindOf(error: unknown): SerializedError['kind'] {
  if (error instanceof UniqueViolation) return 'unique';
  if (error instanceof StorageUnavailable) return 'unavailable';
  return error instanceof OwnerGone ? 'gone' : 'other';
}

export function deserializeError({ kind, reason = 'other', message, stack }: SerializedError): Error {
  const error = new types[kind](message, { reason });
  if (stack !== undefined) error.stack = stack;
  return error;
}

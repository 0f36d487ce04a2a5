/** PostgreSQL's errors by their SQLSTATE, https://www.postgresql.org/docs/current/errcodes-appendix.html */
import pg from 'pg';
import { StorageUnavailable, UniqueViolation } from './database.ts';

/**
 * Connection, resources (disk, memory, connections), shutdown and start, I/O, a read-only server; then the timeouts that
 * postgres.ts sets for a statement and for the time between two statements.
 */
const unavailable = /^(?:08|53|57P|58|25006|57014|25P03)/;
const uniqueViolation = '23505';
const serializationFailure = '40001';
const deadlock = '40P01';
/** A lock was not free within the time that a statement may wait for it (`lock_timeout`). */
const lockNotAvailable = '55P03';
const hinderedByOthers = new Set([serializationFailure, deadlock, lockNotAvailable]);

/** The port's error for an error of PostgreSQL or the driver. Other errors are returned unchanged. */
export function toPortError(error: unknown): unknown {
  if (error instanceof pg.DatabaseError && error.code !== undefined) {
    if (error.code === uniqueViolation) return new UniqueViolation(error.message, { cause: error });
    if (unavailable.test(error.code)) return new StorageUnavailable(error.message, { cause: error });
    return error;
  }
  // A value that cannot be parsed (postgres-types.ts).
  if (error instanceof RangeError || error instanceof TypeError) return error;
  return new StorageUnavailable(error instanceof Error ? error.message : String(error), { cause: error });
}

/** PostgreSQL rolled the transaction back because of concurrent ones. A retry may succeed. */
export function mayBeRetried(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code !== undefined && hinderedByOthers.has(error.code);
}

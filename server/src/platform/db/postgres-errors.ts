/** PostgreSQL's errors by their SQLSTATE, https://www.postgresql.org/docs/current/errcodes-appendix.html */
import pg from 'pg';
import { StorageUnavailable, UniqueViolation } from './database.ts';

/**
 * Connection, resources (disk, memory, connections), shutdown and start, I/O, a server that only reads;
 * then the limits that postgres.ts sets: a statement, or a pause between two, that took too long.
 */
const unavailable = /^(?:08|53|57P|58|25006|57014|25P03)/;
const uniqueViolation = '23505';
const serializationFailure = '40001';
const deadlock = '40P01';
/** A lock was not free within the time that a statement may wait for it (`lock_timeout`). */
const lockNotAvailable = '55P03';
const hinderedByOthers = new Set([serializationFailure, deadlock, lockNotAvailable]);

/** The port's error for what PostgreSQL or the driver reports; anything else as it is. */
export function toPortError(error: unknown): unknown {
  if (error instanceof pg.DatabaseError && error.code !== undefined) {
    if (error.code === uniqueViolation) return new UniqueViolation(error.message, { cause: error });
    if (unavailable.test(error.code)) return new StorageUnavailable(error.message, { cause: error });
    return error;
  }
  // A value that cannot be given back (postgres-types.ts) passes through the driver too.
  if (error instanceof RangeError || error instanceof TypeError) return error;
  return new StorageUnavailable(error instanceof Error ? error.message : String(error), { cause: error });
}

/** PostgreSQL undid the whole transaction because of others. It may work if it is run again. */
export function mayBeRetried(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code !== undefined && hinderedByOthers.has(error.code);
}

/** PostgreSQL's errors by their SQLSTATE, https://www.postgresql.org/docs/current/errcodes-appendix.html */
import pg from 'pg';
import { type StorageProblem, StorageUnavailable, UniqueViolation } from './database.ts';

/**
 * Connection, resources (disk, memory, connections), shutdown and start, I/O, a read-only server; then the timeout that
 * postgres.ts sets for the time between two statements.
 */
const unavailable = /^(?:08|53|57P|58|25006|25P03)/;
const uniqueViolation = '23505';
const serializationFailure = '40001';
const deadlock = '40P01';
/** A lock was not free within the time that a statement may wait for it (`lock_timeout`). */
const lockNotAvailable = '55P03';
/**
 * The statement was cancelled: by `statement_timeout`, by an administrator, or by a `lock_timeout` whose signal came late.
 * An UPDATE may wait for two locks, first for its turn, then for the row. If the time for the first is up just as it is
 * granted, the server has forgotten the reason of the signal when it is handled, and calls it a request of the user.
 */
const cancelled = '57014';
const hinderedByOthers = new Set([serializationFailure, deadlock, lockNotAvailable, cancelled]);

/** The port's error for an error of PostgreSQL or the driver. Other errors are returned unchanged. */
export function toPortError(error: unknown): unknown {
  if (error instanceof pg.DatabaseError && error.code !== undefined) {
    if (error.code === uniqueViolation) return new UniqueViolation(error.message, { cause: error });
    if (unavailable.test(error.code))
      return new StorageUnavailable(error.message, { cause: error, reason: problemOf(error.code) });
    return error;
  }
  // A value that cannot be parsed (postgres-types.ts).
  if (error instanceof RangeError || error instanceof TypeError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new StorageUnavailable(message, { cause: error, reason: 'connection' });
}

function problemOf(code: string): StorageProblem {
  if (code === '53100') return 'disk_full';
  if (code === '25006') return 'read_only';
  if (code === '25P03') return 'timeout';
  return code.startsWith('58') ? 'io' : 'connection';
}

/** PostgreSQL rolled the transaction back because of concurrent ones. A retry may succeed. */
export function mayBeRetried(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code !== undefined && hinderedByOthers.has(error.code);
}

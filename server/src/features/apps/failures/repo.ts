import { defineWrites, type Reader, type Tx } from '../../../platform/db/database.ts';

export interface FailureRow {
  /** The request's id. */
  id: string;
  at: number;
  method: string;
  /** Without values of the query, and without credentials. */
  path: string;
  status: number;
  code: string;
  /** JSON: the fields that the answer named; `null` is the body as a whole. */
  fields: string;
}

/** Failures of one app in one hour. `rows` has the first of them. */
export interface FailedHour {
  readonly clientId: string;
  readonly hour: number;
  readonly total: number;
  readonly rows: readonly FailureRow[];
}

const insertRows = (rows: string): string =>
  `INSERT INTO app_failures (client_id, id, at, method, path, status, code, fields) ${rows} ON CONFLICT DO NOTHING`;

/**
 * Counts the failures, and lists at most `most` of each app and hour, over all nodes: the update of the hour's row locks
 * it. `hours` is sorted, so that two nodes cannot deadlock. Returns how many of each hour are listed now. An app that has
 * been deleted has no room.
 */
async function addFailures(tx: Tx, hours: readonly FailedHour[], most: number): Promise<number[]> {
  const listed: number[] = [];
  for (const { clientId, hour, total, rows } of hours) {
    await tx.run(
      `INSERT INTO app_failure_hours (client_id, hour, total, listed)
       SELECT id, CAST($2 AS BIGINT), 0, 0 FROM apps WHERE id = $1 AND deleted_at IS NULL
       ON CONFLICT (client_id, hour) DO NOTHING`,
      [clientId, hour],
    );
    const before = await tx.get<{ listed: number }>(
      'UPDATE app_failure_hours SET total = total + $3 WHERE client_id = $1 AND hour = $2 RETURNING listed',
      [clientId, hour, total],
    );
    const room = before ? Math.max(0, most - before.listed) : 0;
    const added = rows.slice(0, room);
    listed.push(before ? before.listed + added.length : most);
    if (added.length === 0) continue;
    await tx.run(
      {
        sqlite: insertRows(
          `SELECT $1, value ->> 'id', value ->> 'at', value ->> 'method', value ->> 'path', value ->> 'status',
             value ->> 'code', value ->> 'fields' FROM json_each($2) WHERE TRUE`,
        ),
        postgres: insertRows(
          `SELECT $1, id, at, method, path, status, code, fields FROM json_to_recordset($2)
             AS rows (id TEXT, at BIGINT, method TEXT, path TEXT, status BIGINT, code TEXT, fields TEXT)`,
        ),
      },
      [clientId, JSON.stringify(added)],
    );
    await tx.run('UPDATE app_failure_hours SET listed = listed + $3 WHERE client_id = $1 AND hour = $2', [
      clientId,
      hour,
      added.length,
    ]);
  }
  return listed;
}

/** Where a page begins: after this failure. */
export type FailurePosition = Pick<FailureRow, 'at' | 'id'>;

/** Newest first. */
export function failuresOf(
  db: Reader,
  clientId: string,
  since: number,
  before: FailurePosition,
  limit: number,
): Promise<FailureRow[]> {
  return db.all<FailureRow>(
    `SELECT id, at, method, path, status, code, fields FROM app_failures
     WHERE client_id = $1 AND at >= $2 AND (at < $3 OR (at = $3 AND id < $4))
     ORDER BY at DESC, id DESC LIMIT $5`,
    [clientId, since, before.at, before.id, limit],
  );
}

export interface UnlistedHour {
  hour: number;
  more: number;
}

/** The hours in which more failed than is listed, newest first. */
export function unlistedHours(db: Reader, clientId: string, since: number): Promise<UnlistedHour[]> {
  return db.all<UnlistedHour>(
    `SELECT hour, total - listed AS more FROM app_failure_hours
     WHERE client_id = $1 AND hour >= $2 AND total > listed ORDER BY hour DESC`,
    [clientId, since],
  );
}

/** Deletes up to `limit` rows of each table. Returns how many. */
async function deleteBefore(tx: Tx, before: number, limit: number): Promise<number> {
  const rows = await tx.run(
    `DELETE FROM app_failures WHERE (client_id, at, id) IN
       (SELECT client_id, at, id FROM app_failures WHERE at < $1 ORDER BY at LIMIT $2)`,
    [before, limit],
  );
  const hours = await tx.run(
    `DELETE FROM app_failure_hours WHERE (client_id, hour) IN
       (SELECT client_id, hour FROM app_failure_hours WHERE hour < $1 ORDER BY hour LIMIT $2)`,
    [before, limit],
  );
  return rows + hours;
}

export const writes = defineWrites(import.meta.url, { addFailures, deleteBefore });

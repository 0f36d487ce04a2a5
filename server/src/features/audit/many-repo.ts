/** The rows of one change about many creators, with few statements: each statement is a round trip to PostgreSQL. */
import type { AuditAction } from '../../audit-actions.ts';
import type { Sql, Tx } from '../../platform/db/database.ts';
import { firstId } from '../../platform/ids.ts';
import type { Origin } from '../../platform/origin.ts';
import { day, detailsText, insertEntry, rowsPerDay, type Subject, sharedRowMs } from './repo.ts';

const withList = (sql: (list: string) => string): Sql => ({
  sqlite: sql('(SELECT value FROM json_each($1))'),
  postgres: sql('(SELECT jsonb_array_elements_text(CAST($1 AS jsonb)))'),
});

/** Owners that stay: sandbox creators have those of their developers. */
const ownersSql = withList(
  (list) => `SELECT c.id, o.id AS owner_id FROM creators c
   JOIN creators o ON o.id = COALESCE(c.sandbox_of, c.id) AND o.removed_at IS NULL WHERE c.id IN ${list}`,
);

const busySql = withList(
  (list) => `SELECT creator_id FROM audit WHERE creator_id IN ${list} AND id >= $2
   GROUP BY creator_id HAVING COUNT(*) >= CAST($3 AS BIGINT)`,
);

const insertSql = (values: string): string =>
  `INSERT INTO audit (id, creator_id, client_id, actor, details, at, last_at, action, address, request_id, os_user)
   SELECT ${values}`;

const insertRows: Sql = {
  sqlite: insertSql(
    `value ->> 'id', value ->> 'creator_id', value ->> 'client_id', value ->> 'actor', value ->> 'details',
     $2, $2, $3, $4, $5, $6 FROM json_each($1)`,
  ),
  postgres: insertSql(
    `id, creator_id, client_id, actor, details, CAST($2 AS BIGINT), CAST($2 AS BIGINT), CAST($3 AS TEXT),
     CAST($4 AS TEXT), CAST($5 AS TEXT), CAST($6 AS TEXT)
     FROM json_to_recordset($1) AS rows (id TEXT, creator_id TEXT, client_id TEXT, actor TEXT, details TEXT)`,
  ),
};

/**
 * Their ids are that of the origin with a number. What needs a closer look is written one by one: rows that may be counted
 * in another one, and those about no account, or about one that is being deleted.
 */
export async function insertEntries(
  tx: Tx,
  origin: Origin,
  action: AuditAction,
  subjects: readonly Subject[],
): Promise<void> {
  const creators = JSON.stringify(subjects.flatMap(({ creatorId }) => creatorId ?? []));
  const found = await tx.all<{ id: string; owner_id: string }>(ownersSql, [creators]);
  const owners = new Map(found.map(({ id, owner_id }) => [id, owner_id]));
  const today = [JSON.stringify([...owners.values()]), firstId('aud', origin.at - day), rowsPerDay];
  const busy = new Set((await tx.all<{ creator_id: string }>(busySql, today)).map(({ creator_id }) => creator_id));
  const rows: object[] = [];
  for (const [index, subject] of subjects.entries()) {
    const id = index === 0 ? origin.id : `${origin.id}.${index}`;
    const owner = owners.get(subject.creatorId ?? '');
    if (owner === undefined || busy.has(owner) || sharedRowMs[action] !== undefined)
      await insertEntry(tx, { ...origin, id }, action, subject);
    else {
      const { clientId: client_id = null } = subject;
      const actor = origin.actor ?? client_id ?? owner;
      rows.push({ id, creator_id: owner, client_id, actor, details: detailsText(subject, owner) });
    }
  }
  const { at, address, requestId, osUser } = origin;
  if (rows.length > 0) await tx.run(insertRows, [JSON.stringify(rows), at, action, address, requestId, osUser]);
}

import type { AuditAction } from '../../audit-actions.ts';
import { defineWrites, type Reader, type Tx } from '../../platform/db/database.ts';
import { firstId } from '../../platform/ids.ts';
import type { Origin } from '../../platform/origin.ts';

/** What a row is about. Of an app alone, its owner sees the row. */
export interface Subject {
  readonly creatorId?: string;
  readonly clientId?: string;
  /** Never a secret, nor an address that may hold one. */
  readonly details?: Readonly<Record<string, string | number>>;
}

const hour = 3_600_000;
export const day = 24 * hour;

/** Actions that a stranger can cause: those of one account and actor within this time share a row. */
export const sharedRowMs: Partial<Record<AuditAction, number>> = { 'session.refused': hour };

/**
 * From so many rows of one owner in a day on, each further one is counted in the day's row of the same action, actor and
 * app. An account that a script changes as fast as it may costs 1,000 rows a day and a few more, not 345,600.
 */
export const rowsPerDay = 500;

/**
 * Actions that give access to an account, or take it away from its owner. They have a daily limit of their own: somebody
 * who fills the limit with other rows cannot have a sign-in counted in the row of a sign-in of the owner.
 */
const ofAccess: readonly AuditAction[] = [
  ...(['session.started', 'passkey.added', 'passkey.removed', 'recovery_codes.replaced'] as const),
  ...(['account.password_changed', 'account.recovered', 'account.export_made', 'account.deletion_asked'] as const),
];

const longestDetail = 300;

/**
 * Writes a row about a change, in the transaction of the change. Of an account that is being deleted, or is gone, the row
 * has no address and no details: what was under way meanwhile must not bring them back.
 */
export async function insertEntry(tx: Tx, by: Origin, action: AuditAction, subject: Subject): Promise<void> {
  const { clientId = null } = subject;
  const { creatorId, leaves } = await ownerOf(tx, subject);
  // A visitor has proved to be whom the row is about: an app by its code, a creator by signing in.
  const actor = by.actor ?? clientId ?? creatorId ?? 'clock';
  const origin = leaves || (await isServerOfOther(tx, actor, creatorId)) ? { ...by, address: null } : by;
  const withinMs = (await isBusy(tx, creatorId, clientId, action, origin.at)) ? day : sharedRowMs[action];
  if (withinMs !== undefined && (await countInRow(tx, { ...origin, actor, action, creatorId, clientId }, withinMs)))
    return;
  await tx.run(
    `INSERT INTO audit (id, at, action, actor, creator_id, client_id, address, request_id, os_user, details, last_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $2)`,
    [
      origin.id,
      origin.at,
      action,
      actor,
      creatorId,
      clientId,
      origin.address,
      origin.requestId,
      origin.osUser,
      leaves ? '{}' : detailsText(subject, creatorId),
    ],
  );
}

/** A row of a sandbox creator, which its developer sees, says of which one it is. */
export function detailsText({ creatorId, details }: Subject, ownerId: string | null): string {
  const sandbox = creatorId !== undefined && creatorId !== ownerId ? { sandbox: creatorId } : {};
  return JSON.stringify({ ...details, ...sandbox }, (_, value) =>
    typeof value === 'string' ? value.slice(0, longestDetail) : value,
  );
}

/**
 * Whether the actor is an app with a server, of somebody else. Where that server stands, often a developer's home, is not
 * for everybody who connects the app; the operator finds it in the log by the id of the request. A public app runs on a
 * device of whoever connects it, and its address is what an owner wants to know.
 */
async function isServerOfOther(tx: Tx, actor: string, creatorId: string | null): Promise<boolean> {
  if (creatorId === null || !actor.startsWith('app_')) return false;
  const sql = `SELECT id FROM apps WHERE id = $1 AND public = 0 AND COALESCE(owner_id, '') <> $2`;
  return (await tx.get(sql, [actor, creatorId])) !== undefined;
}

interface Owner {
  readonly creatorId: string | null;
  /** Whether the account is being deleted, or is gone. */
  readonly leaves: boolean;
}

/** The account whose log has the row: of a sandbox creator its developer's, of an app its owner's. */
async function ownerOf(tx: Tx, { creatorId, clientId }: Subject): Promise<Owner> {
  if (creatorId !== undefined) {
    const owner = await tx.get<{ id: string; removed_at: number | null }>(
      `SELECT o.id, o.removed_at FROM creators c JOIN creators o ON o.id = COALESCE(c.sandbox_of, c.id) WHERE c.id = $1`,
      [creatorId],
    );
    return { creatorId: owner?.id ?? creatorId, leaves: owner?.removed_at !== null };
  }
  const app =
    clientId !== undefined &&
    (await tx.get<{ owner_id: string | null; leaves: number }>(
      `SELECT a.owner_id, CASE WHEN a.owner_id IS NOT NULL AND NOT EXISTS
         (SELECT 1 FROM creators o WHERE o.id = a.owner_id AND o.removed_at IS NULL) THEN 1 ELSE 0 END AS leaves
       FROM apps a WHERE a.id = $1`,
      [clientId],
    ));
  return app ? { creatorId: app.owner_id, leaves: app.leaves === 1 } : { creatorId: null, leaves: false };
}

/** The rows of the same owner: those of an app that the operator owns are its own. */
const ofOwner = (creatorId: string | null): string =>
  creatorId === null ? 'creator_id IS NULL AND client_id = $1' : 'creator_id = $1';

const ofAccessSql = `action || '' IN (${ofAccess.map((action) => `'${action}'`).join(', ')})`;

async function isBusy(
  tx: Tx,
  creatorId: string | null,
  clientId: string | null,
  action: AuditAction,
  now: number,
): Promise<boolean> {
  const counted = ofAccess.includes(action) ? ofAccessSql : 'TRUE';
  const reached = await tx.get(
    `SELECT id FROM audit WHERE ${ofOwner(creatorId)} AND id >= $2 AND ${counted}
     ORDER BY id LIMIT 1 OFFSET CAST($3 AS BIGINT)`,
    [creatorId ?? clientId, firstId('aud', now - day), rowsPerDay - 1],
  );
  return reached !== undefined;
}

interface Repeated extends Origin {
  readonly actor: string;
  readonly action: AuditAction;
  readonly creatorId: string | null;
  readonly clientId: string | null;
}

/**
 * Returns whether there was a row to count in. Its address and request become those of the last one. The empty text keeps
 * SQLite from reading everybody's rows of the action.
 */
async function countInRow(tx: Tx, repeated: Repeated, withinMs: number): Promise<boolean> {
  const { action, actor, creatorId, clientId, address, requestId, at } = repeated;
  const counted = await tx.run(
    `UPDATE audit SET times = times + 1, last_at = $6, address = $7, request_id = $8 WHERE id =
       (SELECT id FROM audit WHERE ${ofOwner(creatorId)} AND id >= $2 AND action || '' = $3 AND actor = $4
          AND COALESCE(client_id, '') = $5 ORDER BY id DESC LIMIT 1)`,
    [creatorId ?? clientId, firstId('aud', at - withinMs), action, actor, clientId ?? '', at, address, requestId],
  );
  return counted > 0;
}

export interface AuditRow {
  id: string;
  at: number;
  action: string;
  actor: string;
  creator_id: string | null;
  client_id: string | null;
  address: string | null;
  request_id: string | null;
  os_user: string | null;
  details: string;
  times: number;
  last_at: number;
  username: string | null;
  actor_username: string | null;
  app_name: string | null;
  actor_app_name: string | null;
}

const rowsSql = `
SELECT e.id, e.at, e.action, e.actor, e.creator_id, e.client_id, e.address, e.request_id, e.os_user, e.details, e.times,
  e.last_at, c.username, actor_c.username AS actor_username, a.name AS app_name, actor_a.name AS actor_app_name
FROM audit e
LEFT JOIN creators c ON c.id = e.creator_id
LEFT JOIN creators actor_c ON actor_c.id = e.actor
LEFT JOIN apps a ON a.id = e.client_id
LEFT JOIN apps actor_a ON actor_a.id = e.actor`;

/** Newest first. */
export function entriesOf(db: Reader, creatorId: string, before: string, limit: number): Promise<AuditRow[]> {
  return db.all(`${rowsSql} WHERE e.creator_id = $1 AND e.id < $2 ORDER BY e.id DESC LIMIT $3`, [
    creatorId,
    before,
    limit,
  ]);
}

export interface AuditFilter {
  readonly creatorId?: string | undefined;
  readonly clientId?: string | undefined;
  readonly action?: string | undefined;
}

/** For the operator: the rows of a span of ids, oldest first or newest first. Every filter has an index. */
export function entries(
  db: Reader,
  { creatorId, clientId, action }: AuditFilter,
  span: { readonly from: string; readonly before: string; readonly limit: number; readonly newestFirst: boolean },
): Promise<AuditRow[]> {
  const given: [string, string | undefined][] = [
    ['e.creator_id', creatorId],
    ['e.client_id', clientId],
    // Of one account or app the rows are few, of an action they may be most of all: the empty text keeps SQLite from those.
    [creatorId === undefined && clientId === undefined ? 'e.action' : "e.action || ''", action],
  ];
  const filters = given.flatMap(([column, value]) => (value === undefined ? [] : [{ column, value }]));
  const conditions = filters.map(({ column }, index) => `AND ${column} = $${index + 4}`).join(' ');
  const order = span.newestFirst ? 'DESC' : 'ASC';
  return db.all(`${rowsSql} WHERE e.id >= $1 AND e.id < $2 ${conditions} ORDER BY e.id ${order} LIMIT $3`, [
    span.from,
    span.before,
    span.limit,
    ...filters.map(({ value }) => value),
  ]);
}

function deleteEntriesBefore(tx: Tx, before: string, limit: number): Promise<number> {
  return tx.run('DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE id < $1 ORDER BY id LIMIT $2)', [
    before,
    limit,
  ]);
}

/**
 * For an account that is deleted: takes addresses, names and details out of up to `limit` of its rows after an id. The
 * rows stay. Returns the id to go on after, nothing at the end.
 */
async function eraseEntries(tx: Tx, creatorId: string, after: string, limit: number): Promise<string | undefined> {
  const rows = await tx.all<{ id: string }>(
    'SELECT id FROM audit WHERE creator_id = $1 AND id > $2 ORDER BY id LIMIT $3',
    [creatorId, after, limit],
  );
  const last = rows.at(-1)?.id;
  if (last !== undefined)
    await tx.run(
      `UPDATE audit SET address = NULL, details = '{}' WHERE creator_id = $1 AND id > $2 AND id <= $3
         AND (address IS NOT NULL OR details <> '{}')`,
      [creatorId, after, last],
    );
  return last;
}

export const writes = defineWrites(import.meta.url, { deleteEntriesBefore, eraseEntries });

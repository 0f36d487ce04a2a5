import { defineWrites, type Reader, type Tx, type Write } from '../../../platform/db/database.ts';
import { deleteApp } from '../../apps/index.ts';
import type { GrantEndReason } from '../../events/index.ts';
import { setDeviceGrant } from '../device/repo.ts';
import { endDevice, insertFamily, isPublicApp, type NewFamily } from './families-repo.ts';

/**
 * The writes that approve and end grants. A feature whose rows depend on grants implements them: each calls the function
 * of the same name below, then changes its own rows in the same transaction.
 */
export interface GrantWrites {
  /** Returns the id of the live grant. */
  readonly approveGrant: Write<[Approval], string>;
  /** The same for the owner of the app; nothing if the creator does not own it, or it is suspended. */
  readonly approveOwnGrant: Write<[Approval], string | undefined>;
  /** The same for the device of this hash; nothing if somebody has decided before, or its code has expired. */
  readonly approveDevice: Write<[Approval, hash: string], string | undefined>;
  /** Returns whether there was a live grant. */
  readonly endGrant: Write<[GrantEnd], boolean>;
}

/** A grant, and the code or the refresh token family that is issued with it. */
export interface Approval {
  readonly creatorId: string;
  readonly clientId: string;
  /** Used if there is no live grant yet. */
  readonly newGrantId: string;
  readonly scope: string;
  readonly byOperator: boolean;
  /** By the app's owner, for the own account. */
  readonly byOwner?: boolean;
  readonly now: number;
  readonly issue: { readonly code: NewCode } | { readonly family: NewFamily } | { readonly device: DeviceApproval };
}

/** The device fetches its tokens with its own code. */
interface DeviceApproval {
  readonly hash: string;
}

interface NewCode {
  readonly hash: string;
  readonly redirectUri: string;
  /** RFC 7636, S256; `null` if the app did not send one. */
  readonly codeChallenge: string | null;
  readonly expiresAt: number;
}

/**
 * With `clientId`, the live grant of the app. With `grantId`, only that grant: an old token must not end a newer one.
 * With `familyId`, that family of a public app, and its grant if no other device is connected.
 */
export interface GrantEnd {
  readonly creatorId: string;
  readonly grant: { readonly clientId: string } | { readonly grantId: string } | { readonly familyId: string };
  readonly reason: GrantEndReason;
  readonly now: number;
  /** The id of the event that reports the end. */
  readonly newEventId: string;
}

const upsertGrant = (set: string): string =>
  `INSERT INTO grants (creator_id, id, client_id, scope, by_operator, by_owner, created_at)
   VALUES ($1, $2, $3, $4, $5, $6, $7)
   ON CONFLICT (creator_id, client_id) WHERE ended_at IS NULL DO UPDATE SET ${set}
   RETURNING id`;
const replaceScope = upsertGrant(
  'scope = excluded.scope, by_operator = excluded.by_operator, by_owner = excluded.by_owner',
);
/** The families of a public app decide its scopes. It stays marked if one of them was made by the operator or owner. */
const keepScope = upsertGrant(
  `by_operator = CASE WHEN excluded.by_operator = 1 THEN 1 ELSE grants.by_operator END,
   by_owner = CASE WHEN excluded.by_owner = 1 THEN 1 ELSE grants.by_owner END`,
);

/**
 * Creates the live grant of (creator, app), or sets its scopes to exactly these; those of a public app change only when
 * its new family begins. Returns its id.
 */
export async function approveGrant(tx: Tx, approval: Approval): Promise<string> {
  const { creatorId, clientId, newGrantId, scope, byOperator, byOwner, now, issue } = approval;
  const publicApp = await isPublicApp(tx, clientId);
  const [grant] = await tx.all<{ id: string }>(publicApp ? keepScope : replaceScope, [
    creatorId,
    newGrantId,
    clientId,
    publicApp ? '' : scope,
    byOperator ? 1 : 0,
    byOwner ? 1 : 0,
    now,
  ]);
  const grantId = grant?.id ?? newGrantId;
  if ('code' in issue)
    await tx.run(
      `INSERT INTO authorization_codes
         (creator_id, hash, client_id, grant_id, scope, redirect_uri, code_challenge, created_at, expires_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
      [
        creatorId,
        issue.code.hash,
        clientId,
        grantId,
        scope,
        issue.code.redirectUri,
        issue.code.codeChallenge,
        now,
        issue.code.expiresAt,
      ],
    );
  else if ('device' in issue) await setDeviceGrant(tx, issue.device.hash, grantId);
  else await insertFamily(tx, { ...issue.family, creatorId, grantId, scope, now, publicApp });
  return grantId;
}

export interface EndedGrant {
  readonly grantId: string;
  readonly clientId: string;
  readonly scope: string;
}

/** Ends a live grant, if there is one. Its families, codes and sockets are checked against it and so end with it. */
export async function endGrant(tx: Tx, { creatorId, grant, reason, now }: GrantEnd): Promise<EndedGrant | undefined> {
  let [column, id]: [string, string | undefined] =
    'clientId' in grant ? ['client_id', grant.clientId] : ['id', undefined];
  if ('grantId' in grant) id = grant.grantId;
  if ('familyId' in grant) id = await endDevice(tx, creatorId, grant.familyId, now);
  if (id === undefined) return undefined;
  const row = await tx.get<{ id: string; client_id: string; scope: string }>(
    `UPDATE grants SET ended_at = $3, ended_reason = $4
     WHERE creator_id = $1 AND ${column} = $2 AND ended_at IS NULL RETURNING id, client_id, scope`,
    [creatorId, id, now, reason],
  );
  return row && { grantId: row.id, clientId: row.client_id, scope: row.scope };
}

/** Returns whether the owner has such an app. */
async function deleteAppAndGrants(tx: Tx, ownerId: string, clientId: string, now: number): Promise<boolean> {
  if (!(await deleteApp(tx, ownerId, clientId, now))) return false;
  await tx.run('UPDATE grants SET ended_at = $2, ended_reason = $3 WHERE client_id = $1 AND ended_at IS NULL', [
    clientId,
    now,
    'app_deleted' satisfies GrantEndReason,
  ]);
  // Nobody's history names an app that nobody ever connected.
  await tx.run('DELETE FROM apps WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM grants WHERE client_id = $1)', [clientId]);
  return true;
}

export interface LastUse {
  readonly creator_id: string;
  readonly grant_id: string;
  readonly used_at: number;
}

const upsertLastUsesSql = (rows: string): string =>
  `INSERT INTO grant_uses (creator_id, grant_id, used_at) ${rows}
   ON CONFLICT (creator_id, grant_id) DO UPDATE SET used_at = excluded.used_at
   WHERE grant_uses.used_at < excluded.used_at`;

/** `uses` has each grant at most once. The clocks of nodes differ: the latest time wins. */
async function upsertLastUses(tx: Tx, uses: readonly LastUse[]): Promise<void> {
  await tx.run(
    {
      sqlite: upsertLastUsesSql(
        `SELECT value ->> 'creator_id', value ->> 'grant_id', value ->> 'used_at' FROM json_each($1) WHERE TRUE`,
      ),
      // Sorted, so that two nodes cannot deadlock.
      postgres: upsertLastUsesSql(
        `SELECT creator_id, grant_id, used_at
         FROM json_to_recordset($1) AS uses (creator_id TEXT, grant_id TEXT, used_at BIGINT) ORDER BY grant_id`,
      ),
    },
    [JSON.stringify(uses)],
  );
}

export const writes = defineWrites(import.meta.url, { deleteAppAndGrants, upsertLastUses });

export interface AccessRow {
  grant_id: string;
  client_id: string;
  grant_scope: string;
  grant_ended_at: number | null;
  family_ended_at: number | null;
  app_name: string;
  app_suspended_at: number | null;
  app_deleted_at: number | null;
  creator_suspended_at: number | null;
  username: string;
  display_name: string;
  avatar_id: string | null;
  creator_created_at: number;
}

export function accessByFamily(db: Reader, creatorId: string, familyId: string): Promise<AccessRow | undefined> {
  return db.get<AccessRow>(
    `SELECT g.id AS grant_id, g.client_id, g.scope AS grant_scope, g.ended_at AS grant_ended_at,
       f.ended_at AS family_ended_at,
       a.name AS app_name, a.suspended_at AS app_suspended_at, a.deleted_at AS app_deleted_at,
       c.suspended_at AS creator_suspended_at, c.username, c.display_name, c.avatar_id, c.created_at AS creator_created_at
     FROM families f
     JOIN grants g ON g.creator_id = f.creator_id AND g.id = f.grant_id
     JOIN apps a ON a.id = g.client_id
     JOIN creators c ON c.id = f.creator_id
     WHERE f.creator_id = $1 AND f.id = $2`,
    [creatorId, familyId],
  );
}

export interface ConnectionRow {
  client_id: string;
  app_name: string;
  app_suspended_at: number | null;
  owner_username: string | null;
  description: string | null;
  homepage_url: string | null;
  privacy_url: string | null;
  logo_id: string | null;
  scope: string;
  by_operator: number;
  by_owner: number;
  created_at: number;
  used_at: number | null;
}

/** The live grants of a creator with their apps, newest first. */
export function connectionsOf(db: Reader, creatorId: string): Promise<ConnectionRow[]> {
  return db.all<ConnectionRow>(
    `SELECT g.client_id, a.name AS app_name, a.suspended_at AS app_suspended_at, o.username AS owner_username,
       a.description, a.homepage_url, a.privacy_url, a.logo_id, g.scope, g.by_operator,
       g.by_owner, g.created_at, u.used_at
     FROM grants g
     JOIN apps a ON a.id = g.client_id
     LEFT JOIN creators o ON o.id = a.owner_id
     LEFT JOIN grant_uses u ON u.creator_id = g.creator_id AND u.grant_id = g.id
     WHERE g.creator_id = $1 AND g.ended_at IS NULL AND a.deleted_at IS NULL
     ORDER BY g.created_at DESC, g.id DESC`,
    [creatorId],
  );
}

export interface ConnectedCreatorRow {
  grant_id: string;
  creator_id: string;
  username: string;
  display_name: string;
  scope: string;
  by_operator: number;
  by_owner: number;
  created_at: number;
}

/**
 * The live grants of an app whose id is less than `before`, newest first. Only those that work: of a suspended creator
 * the API tells the app nothing.
 */
export function connectedCreators(
  db: Reader,
  clientId: string,
  before: string,
  limit: number,
): Promise<ConnectedCreatorRow[]> {
  return db.all<ConnectedCreatorRow>(
    `SELECT g.id AS grant_id, g.creator_id, c.username, c.display_name, g.scope, g.by_operator, g.by_owner, g.created_at
     FROM grants g JOIN creators c ON c.id = g.creator_id
     WHERE g.client_id = $1 AND g.ended_at IS NULL AND g.id < $2 AND c.suspended_at IS NULL
     ORDER BY g.id DESC LIMIT $3`,
    [clientId, before, limit],
  );
}

/** Every app that the creator ever connected, by name: only these can have recorded tips. */
export function appsEver(db: Reader, creatorId: string): Promise<{ id: string; name: string }[]> {
  return db.all(
    `SELECT a.id, a.name FROM apps a WHERE a.id IN (SELECT client_id FROM grants WHERE creator_id = $1)
     ORDER BY a.name, a.id`,
    [creatorId],
  );
}

export async function isConnected(db: Reader, creatorId: string, clientId: string): Promise<boolean> {
  const sql = 'SELECT id FROM grants WHERE creator_id = $1 AND client_id = $2 AND ended_at IS NULL';
  return (await db.get(sql, [creatorId, clientId])) !== undefined;
}

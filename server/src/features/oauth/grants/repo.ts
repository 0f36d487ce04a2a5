import { defineWrites, OwnerGone, type Tx, type Write } from '../../../platform/db/database.ts';
import type { Origin } from '../../../platform/origin.ts';
import type { GrantEndReason } from '../../events/index.ts';
import { setDeviceGrant } from '../device/repo.ts';
import { endDevice, insertFamily, isPublicApp, type NewFamily } from './families-repo.ts';

/**
 * The writes that approve and end grants. A feature whose rows depend on grants implements them: each calls
 * `approveGrant` or `endGrant` below, then changes its own rows in the same transaction.
 */
export interface GrantWrites {
  /** Returns the id of the live grant. */
  readonly approveGrant: Write<[Origin, Approval], string>;
  /** The same by the owner of the app, for the own account or a sandbox creator; nothing if app or creator is another's or suspended. */
  readonly approveOwnGrant: Write<[Origin, Approval], string | undefined>;
  /** The same for the device of this hash; nothing if somebody has decided before, or its code has expired. */
  readonly approveDevice: Write<[Origin, Approval, hash: string], string | undefined>;
  /** Returns the grant that has ended, or one of whose devices has. */
  readonly endGrant: Write<[Origin, GrantEnd], EndedGrant | undefined>;
}

/** A grant, and the code or the refresh token family that is issued with it. */
export interface Approval {
  readonly creatorId: string;
  readonly clientId: string;
  /** Used if there is no live grant yet. */
  readonly newGrantId: string;
  readonly scope: string;
  readonly byOperator: boolean;
  /** By the app's owner, for the own account or a sandbox creator. */
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
  if (publicApp === undefined) throw new OwnerGone(`there is no app ${clientId}`);
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
  readonly clientId: string;
  readonly scope: string;
  /** The only device that was disconnected: the grant lives on, because others are connected. */
  readonly device?: string;
}

/** Ends a live grant, if there is one. Its families, codes and sockets are checked against it and so end with it. */
export async function endGrant(tx: Tx, { creatorId, grant, reason, now }: GrantEnd): Promise<EndedGrant | undefined> {
  const device = 'familyId' in grant ? await endDevice(tx, creatorId, grant.familyId, now) : undefined;
  if (device?.isLast === false)
    return device.hasEnded ? { clientId: device.clientId, scope: '', device: device.familyId } : undefined;
  const target = targetOf(grant, device?.grantId);
  if (!target) return undefined;
  const row = await tx.get<{ client_id: string; scope: string }>(
    `UPDATE grants SET ended_at = $3, ended_reason = $4
     WHERE creator_id = $1 AND ${target.column} = $2 AND ended_at IS NULL RETURNING client_id, scope`,
    [creatorId, target.id, now, reason],
  );
  return row && { clientId: row.client_id, scope: row.scope };
}

/** The column by which the grant is found, and its value; nothing if there is no such family of a public app. */
function targetOf(
  grant: GrantEnd['grant'],
  grantOfFamily: string | undefined,
): { readonly column: 'client_id' | 'id'; readonly id: string } | undefined {
  if ('clientId' in grant) return { column: 'client_id', id: grant.clientId };
  const id = 'grantId' in grant ? grant.grantId : grantOfFamily;
  return id === undefined ? undefined : { column: 'id', id };
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

/**
 * `uses` has each grant at most once. The clocks of nodes differ: the latest time wins. A grant that was deleted since its
 * use leaves nothing.
 */
async function upsertLastUses(tx: Tx, uses: readonly LastUse[]): Promise<void> {
  await tx.run(
    {
      sqlite: upsertLastUsesSql(
        `SELECT value ->> 'creator_id', value ->> 'grant_id', value ->> 'used_at' FROM json_each($1)
         WHERE EXISTS (SELECT 1 FROM grants WHERE creator_id = value ->> 'creator_id' AND id = value ->> 'grant_id')`,
      ),
      // Sorted, so that two nodes cannot deadlock.
      postgres: upsertLastUsesSql(
        `SELECT creator_id, grant_id, used_at
         FROM json_to_recordset($1) AS uses (creator_id TEXT, grant_id TEXT, used_at BIGINT)
         WHERE EXISTS (SELECT 1 FROM grants WHERE grants.creator_id = uses.creator_id AND grants.id = uses.grant_id)
         ORDER BY grant_id`,
      ),
    },
    [JSON.stringify(uses)],
  );
}

/** While the live grant is paused, the app is answered as if it had ended. `null` ends the pause. */
export async function setGrantPaused(tx: Tx, creatorId: string, clientId: string, at: number | null): Promise<void> {
  await tx.run(
    `UPDATE grants SET paused_at = CAST($3 AS BIGINT) WHERE creator_id = $1 AND client_id = $2 AND ended_at IS NULL
       AND (paused_at IS NULL) <> (CAST($3 AS BIGINT) IS NULL)`,
    [creatorId, clientId, at],
  );
}

export const writes = defineWrites(import.meta.url, {
  upsertLastUses,
});

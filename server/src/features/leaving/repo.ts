import { defineWrites, type Reader, type Tx } from '../../platform/db/database.ts';
import { lockCreator } from '../accounts/index.ts';
import { audited, auditedAsOneOf } from '../audit/index.ts';

/** An export changes no row. The write exists for its entry in the audit log. */
async function recordExport(_tx: Tx, _creatorId: string): Promise<void> {}

/** When it will be deleted. Not new: somebody has asked before, for this time or an earlier one. */
type Asked = { readonly deleteAt: number; readonly isNew: boolean } | 'unknown' | 'is_demo';

/** Suspends the account until its deletion begins, and ends its sessions. Its sandbox creators wait with it. */
async function askDeletion(tx: Tx, creatorId: string, now: number, deleteAt: number): Promise<Asked> {
  const creator = await lockCreator(tx, creatorId);
  if (!creator || creator.sandbox_of !== null) return 'unknown';
  if (creator.demo === 1) return 'is_demo';
  if (creator.delete_at !== null && creator.delete_at <= deleteAt) return { deleteAt: creator.delete_at, isNew: false };
  // The file of deletions knows the last request of an account by its time, also where the clock was set back.
  await setDeletion(tx, creatorId, Math.max(now, (creator.deletion_asked_at ?? 0) + 1), deleteAt);
  return { deleteAt, isNew: true };
}

async function setDeletion(tx: Tx, creatorId: string, now: number, deleteAt: number): Promise<void> {
  await tx.run('UPDATE creators SET deletion_asked_at = $2, delete_at = $3 WHERE id = $1', [creatorId, now, deleteAt]);
  await tx.run(
    `UPDATE creators SET suspended_at = $2
     WHERE (id = $1 OR sandbox_of = $1) AND removed_at IS NULL AND suspended_at IS NULL`,
    [creatorId, now],
  );
  await tx.run('DELETE FROM sessions WHERE creator_id = $1', [creatorId]);
}

/**
 * Returns whether the account waited for its deletion. One that the operator has suspended for another reason can be
 * restored only by the operator.
 */
async function undoDeletion(tx: Tx, creatorId: string, byOperator: boolean): Promise<boolean> {
  const creator = await lockCreator(tx, creatorId);
  if (!creator || creator.delete_at === null || creator.removed_at !== null) return false;
  const { deletion_asked_at: askedAt, suspended_at: suspendedAt } = creator;
  if (!byOperator && suspendedAt !== askedAt) return false;
  await tx.run('UPDATE creators SET delete_at = NULL WHERE id = $1', [creatorId]);
  await tx.run(
    `UPDATE creators SET suspended_at = NULL WHERE (id = $1 OR sandbox_of = $1) AND removed_at IS NULL
       AND suspended_at = $2`,
    [creatorId, suspendedAt],
  );
  return true;
}

export function dueDeletions(db: Reader, now: number): Promise<{ id: string }[]> {
  return db.all(
    `SELECT id FROM creators WHERE deletion_asked_at IS NOT NULL AND delete_at <= $1 ORDER BY deletion_asked_at LIMIT 100`,
    [now],
  );
}

/**
 * Marks an account whose time has come as removed: from then on nobody can restore it, whatever is returned. Then takes the
 * lease, unless this account or another one is being deleted, and deletes the head, so that nothing is appended to its log.
 * Returns whether the lease was taken. Two nodes may begin with two accounts at the same moment, which does no harm.
 */
async function beginDeletion(
  tx: Tx,
  creatorId: string,
  lease: { readonly token: string; readonly from: number; readonly until: number },
): Promise<boolean> {
  const due = await tx.run(
    `UPDATE creators SET removed_at = COALESCE(removed_at, $2), suspended_at = COALESCE(suspended_at, $2)
     WHERE id = $1 AND delete_at <= $2`,
    [creatorId, lease.from],
  );
  if (due === 0) return false;
  const taken = await tx.run(
    `INSERT INTO account_deletions (creator_id, begun_at, lease, lease_until)
     SELECT CAST($1 AS TEXT), CAST($2 AS BIGINT), CAST($3 AS TEXT), CAST($4 AS BIGINT)
     WHERE NOT EXISTS (SELECT 1 FROM account_deletions WHERE lease_until > $2)
     ON CONFLICT (creator_id) DO UPDATE SET lease = excluded.lease, lease_until = excluded.lease_until`,
    [creatorId, lease.from, lease.token, lease.until],
  );
  if (taken > 0) await tx.run('DELETE FROM creator_heads WHERE creator_id = $1', [creatorId]);
  return taken > 0;
}

/** Returns whether the lease was still held. */
async function renewLease(tx: Tx, creatorId: string, token: string, until: number): Promise<boolean> {
  const sql = 'UPDATE account_deletions SET lease_until = $3 WHERE creator_id = $1 AND lease = $2';
  return (await tx.run(sql, [creatorId, token, until])) > 0;
}

export interface TakenName {
  readonly id: string;
  readonly sealed_key: Uint8Array;
  readonly mac: string;
  readonly taken_until: number;
}

/** The last step. Returns whether the creator's row was still there. */
async function finishDeletion(tx: Tx, creatorId: string, name: TakenName, now: number): Promise<boolean> {
  const deleted = await tx.run('DELETE FROM creators WHERE id = $1 AND removed_at IS NOT NULL', [creatorId]);
  if (deleted === 0) return false;
  await tx.run('INSERT INTO taken_names (id, sealed_key, mac, taken_until) VALUES ($1, $2, $3, $4)', [
    name.id,
    name.sealed_key,
    name.mac,
    name.taken_until,
  ]);
  await tx.run('UPDATE account_deletions SET erased_at = $2, lease = NULL, lease_until = 0 WHERE creator_id = $1', [
    creatorId,
    now,
  ]);
  return true;
}

/** Deleted accounts after which the files have to be cleaned: soon after the deletion, and again later. */
export function uncleanDeletions(
  db: Reader,
  now: number,
  { firstMs, againMs }: { readonly firstMs: number; readonly againMs: number },
): Promise<{ creator_id: string }[]> {
  return db.all(
    `SELECT creator_id FROM account_deletions
     WHERE (erased_at <= $1 AND cleaned_at IS NULL) OR (erased_at <= $2 AND cleaned_at - erased_at < $3)`,
    [now - firstMs, now - againMs, againMs],
  );
}

async function setCleaned(tx: Tx, creatorId: string, now: number): Promise<void> {
  await tx.run('UPDATE account_deletions SET cleaned_at = $2 WHERE creator_id = $1', [creatorId, now]);
}

async function forgetDeletions(tx: Tx, deletedBefore: number, now: number): Promise<void> {
  await tx.run('DELETE FROM account_deletions WHERE erased_at < $1', [deletedBefore]);
  await tx.run('DELETE FROM taken_names WHERE taken_until <= $1', [now]);
}

export function takenNames(db: Reader, now: number): Promise<TakenName[]> {
  return db.all('SELECT id, sealed_key, mac, taken_until FROM taken_names WHERE taken_until > $1', [now]);
}

export interface AskedDeletion {
  readonly creator_id: string;
  readonly asked_at: number;
  /** `null`: the owner has changed their mind. */
  readonly delete_at: number | null;
}

export function askedDeletions(db: Reader, askedSince: number): Promise<AskedDeletion[]> {
  return db.all(
    `SELECT id AS creator_id, deletion_asked_at AS asked_at, delete_at FROM creators
     WHERE deletion_asked_at >= $1`,
    [askedSince],
  );
}

export interface DeletedAccount {
  readonly creator_id: string;
  readonly erased_at: number;
}

export function deletedAccounts(db: Reader): Promise<DeletedAccount[]> {
  return db.all('SELECT creator_id, erased_at FROM account_deletions WHERE erased_at IS NOT NULL');
}

/**
 * For a database that was restored from a copy: applies the last request of an account that the file knows. A later request
 * than that of the copy replaces it, also with a later time: the owner undid the earlier one. Returns what had to be
 * changed.
 */
async function applyAsked(
  tx: Tx,
  { creator_id, asked_at, delete_at }: AskedDeletion,
): Promise<'asked' | 'restored' | false> {
  const creator = await lockCreator(tx, creator_id);
  if (!creator || creator.removed_at !== null) return false;
  const knownAt = creator.deletion_asked_at ?? 0;
  if (delete_at === null) return knownAt <= asked_at && (await undoDeletion(tx, creator_id, false)) && 'restored';
  if (knownAt >= asked_at) return false;
  await undoDeletion(tx, creator_id, false);
  await setDeletion(tx, creator_id, asked_at, delete_at);
  return 'asked';
}

const ofDeletion = (is: boolean, { creator_id: creatorId }: AskedDeletion) => is && { creatorId };

export const writes = defineWrites(import.meta.url, {
  recordExport: audited('account.export_made', recordExport, (_, creatorId) => ({ creatorId })),
  askDeletion: audited('account.deletion_asked', askDeletion, (asked, creatorId) => {
    return typeof asked === 'object' && asked.isNew && { creatorId };
  }),
  undoDeletion: audited('account.restored', undoDeletion, (restored, creatorId) => restored && { creatorId }),
  beginDeletion,
  renewLease,
  finishDeletion: audited('account.deleted', finishDeletion, (deleted, creatorId) => deleted && { creatorId }),
  setCleaned,
  forgetDeletions,
  applyAsked: auditedAsOneOf(
    [
      ['account.deletion_asked', (applied, asked) => ofDeletion(applied === 'asked', asked)],
      ['account.restored', (applied, asked) => ofDeletion(applied === 'restored', asked)],
    ],
    applyAsked,
  ),
});

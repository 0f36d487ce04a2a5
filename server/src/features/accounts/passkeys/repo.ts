import { defineWrites, type Reader, type Tx } from '../../../platform/db/database.ts';
import { audited } from '../../audit/index.ts';
import { lockCreator, signInState } from '../repo.ts';
import { aboutSession, insertSession, type SessionRow } from '../sessions/repo.ts';

export interface PasskeyRow {
  creator_id: string;
  id: string;
  credential_id: string;
  public_key: Uint8Array;
  counter: number;
  transports: string;
  name: string;
  created_at: number;
  last_used_at: number | null;
}

const columns = 'creator_id, id, credential_id, public_key, counter, transports, name, created_at, last_used_at';

export interface UsedChallenge {
  readonly hash: string;
  readonly purpose: string;
  readonly boundTo: string;
  readonly expiresAt: number;
}

/** Returns whether the challenge was unused. Each can be consumed once: the insertion decides. */
async function consumeChallenge(tx: Tx, { hash, purpose, boundTo, expiresAt }: UsedChallenge): Promise<boolean> {
  const inserted = await tx.run(
    `INSERT INTO webauthn_challenges (hash, purpose, bound_to, expires_at) VALUES ($1, $2, $3, $4)
     ON CONFLICT (hash) DO NOTHING`,
    [hash, purpose, boundTo, expiresAt],
  );
  return inserted === 1;
}

function deleteChallengesBefore(tx: Tx, now: number, limit: number): Promise<number> {
  return tx.run(
    `DELETE FROM webauthn_challenges WHERE hash IN
       (SELECT hash FROM webauthn_challenges WHERE expires_at <= $1 LIMIT $2)`,
    [now, limit],
  );
}

/** Returns false if the creator has `max` passkeys, or if the credential is registered already. The lock holds others to it. */
async function insertPasskey(tx: Tx, passkey: Omit<PasskeyRow, 'last_used_at'>, max: number): Promise<boolean> {
  await lockCreator(tx, passkey.creator_id);
  const held = await tx.all('SELECT id FROM passkeys WHERE creator_id = $1', [passkey.creator_id]);
  if (held.length >= max) return false;
  const added = await tx.run(
    `INSERT INTO passkeys (creator_id, id, credential_id, public_key, counter, transports, name, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING`,
    [
      passkey.creator_id,
      passkey.id,
      passkey.credential_id,
      passkey.public_key,
      passkey.counter,
      passkey.transports,
      passkey.name,
      passkey.created_at,
    ],
  );
  return added === 1;
}

export function passkeysOf(db: Reader, creatorId: string): Promise<PasskeyRow[]> {
  return db.all(`SELECT ${columns} FROM passkeys WHERE creator_id = $1 ORDER BY id`, [creatorId]);
}

export function passkeyByCredential(db: Reader, credentialId: string): Promise<PasskeyRow | undefined> {
  return db.get(`SELECT ${columns} FROM passkeys WHERE credential_id = $1`, [credentialId]);
}

/** The counter must grow: a repeated value means a cloned passkey. Many passkeys do not count and stay at 0. */
async function usePasskey(
  tx: Tx,
  creatorId: string,
  id: string,
  use: { counter: number; at: number },
): Promise<boolean> {
  const used = await tx.run(
    `UPDATE passkeys SET counter = $3, last_used_at = $4
     WHERE creator_id = $1 AND id = $2 AND (counter < $3 OR (counter = 0 AND $3 = 0))`,
    [creatorId, id, use.counter, use.at],
  );
  return used === 1;
}

function renamePasskey(tx: Tx, creatorId: string, id: string, name: string): Promise<number> {
  return tx.run('UPDATE passkeys SET name = $3 WHERE creator_id = $1 AND id = $2', [creatorId, id, name]);
}

function deletePasskey(tx: Tx, creatorId: string, id: string): Promise<number> {
  return tx.run('DELETE FROM passkeys WHERE creator_id = $1 AND id = $2', [creatorId, id]);
}

async function signInByPasskey(
  tx: Tx,
  passkeyId: string,
  use: { counter: number; at: number },
  session: SessionRow,
): Promise<'ok' | 'wrong' | 'leaving' | 'suspended'> {
  const creator = await lockCreator(tx, session.creator_id);
  const state = creator ? signInState(creator) : 'suspended';
  if (!creator || state === 'suspended') return 'suspended';
  if (!(await usePasskey(tx, creator.id, passkeyId, use))) return 'wrong';
  if (state === 'ok') await insertSession(tx, session);
  return state;
}

export const writes = defineWrites(import.meta.url, {
  consumeChallenge,
  deleteChallengesBefore,
  insertPasskey: audited('passkey.added', insertPasskey, (added, { creator_id, name }) => {
    return added && { creatorId: creator_id, details: { name } };
  }),
  signInByPasskey: audited('session.started', signInByPasskey, (outcome, _passkey, _use, session) => {
    return outcome === 'ok' && aboutSession(session);
  }),
  renamePasskey: audited('passkey.renamed', renamePasskey, (changed, creatorId, _id, name) => {
    return changed > 0 && { creatorId, details: { name } };
  }),
  deletePasskey: audited('passkey.removed', deletePasskey, (changed, creatorId) => changed > 0 && { creatorId }),
});

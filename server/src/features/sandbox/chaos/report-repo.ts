import type { Reader } from '../../../platform/db/database.ts';
import type { ChaosKind } from './decide.ts';
import type { Pair } from './repo.ts';

/** The method and route of the calls that record tips, as faults name them. */
const recordingTips = 'POST /v1/tips';

/** Faults after which a call may be repeated. */
const refusals = `('rate_limited', 'upstream_failed', 'token_expired')`;

export function countByKind(db: Reader, { creatorId, clientId }: Pair): Promise<{ kind: ChaosKind; count: number }[]> {
  return db.all(
    'SELECT kind, COUNT(*) AS count FROM chaos_faults WHERE creator_id = $1 AND client_id = $2 GROUP BY kind',
    [creatorId, clientId],
  );
}

export interface TipCallsRow {
  /** Calls that chaos refused. */
  refused: number;
  /** Of these: a later call had the same Idempotency-Key. */
  repeated: number;
  without_key: number;
}

export async function tipCalls(db: Reader, { creatorId, clientId }: Pair): Promise<TipCallsRow> {
  const row = await db.get<TipCallsRow>(
    `SELECT COUNT(*) AS refused, COUNT(repeated_n) AS repeated, COUNT(*) - COUNT(key) AS without_key FROM chaos_faults
     WHERE creator_id = $1 AND client_id = $2 AND subject = $3 AND kind IN ${refusals}`,
    [creatorId, clientId, recordingTips],
  );
  return row ?? { refused: 0, repeated: 0, without_key: 0 };
}

/** Keys of refused calls that recorded no tip. What failed because the grant was gone is not the app's fault. */
export function lostKeys(db: Reader, { creatorId, clientId }: Pair, limit: number): Promise<{ key: string }[]> {
  return db.all(
    `SELECT DISTINCT f.key FROM chaos_faults f
     WHERE f.creator_id = $1 AND f.client_id = $2 AND f.subject = $3 AND f.key IS NOT NULL AND f.kind IN ${refusals}
       AND NOT EXISTS (SELECT 1 FROM idempotency_keys k
         WHERE k.creator_id = f.creator_id AND k.client_id = f.client_id AND k.key = f.key)
       AND NOT EXISTS (SELECT 1 FROM chaos_faults r
         WHERE r.creator_id = f.creator_id AND r.client_id = f.client_id AND r.key = f.key AND r.kind = 'revoked')
     ORDER BY f.key LIMIT $4`,
    [creatorId, clientId, recordingTips, limit],
  );
}

/** What tells a tip apart from another one: its place in the history, and its words. */
export interface TipContentRow {
  id: string;
  client_id: string | null;
  sequence: number;
  created_at: number;
  amount_minor: number;
  name: string;
  display_name: string | null;
  message: string | null;
}

const contentColumns = 'a.id, a.client_id, a.sequence, a.created_at, a.amount_minor, a.name, a.display_name, a.message';

/** Tips whose answer was replaced, and that the app never asked for again with the same key. */
export function unconfirmedTips(db: Reader, { creatorId, clientId }: Pair, limit: number): Promise<TipContentRow[]> {
  return db.all<TipContentRow>(
    `SELECT ${contentColumns} FROM chaos_faults f JOIN tips a ON a.id = f.tip_id AND a.creator_id = f.creator_id
     WHERE f.creator_id = $1 AND f.client_id = $2 AND f.tip_id IS NOT NULL AND f.repeated_n IS NULL
     ORDER BY f.number LIMIT $3`,
    [creatorId, clientId, limit],
  );
}

/** The tips that a creator got after this one, oldest first. */
export function tipsAfter(
  db: Reader,
  creatorId: string,
  { created_at, sequence }: Pick<TipContentRow, 'created_at' | 'sequence'>,
  limit: number,
): Promise<TipContentRow[]> {
  return db.all<TipContentRow>(
    `SELECT ${contentColumns} FROM tips a
     WHERE a.creator_id = $1 AND (a.created_at, a.sequence) > ($2, $3) ORDER BY a.created_at, a.sequence LIMIT $4`,
    [creatorId, created_at, sequence, limit],
  );
}

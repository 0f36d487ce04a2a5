import { hash } from 'node:crypto';
import { defineWrites, type Reader, type Sql, type Tx } from '../../platform/db/database.ts';

export interface RulesRow {
  version: number;
  /** `null`: the creator has none. */
  rules: string | null;
}

/** Without the rules themselves, which may be 200 KB. `owner` is null for a creator who has none. */
export function versionOf(
  db: Reader,
  creatorId: string,
): Promise<{ readonly version: number; readonly owner: string | null } | undefined> {
  return db.get(
    `SELECT h.screening_version AS version, r.creator_id AS owner FROM creator_heads h
     LEFT JOIN screening_rules r ON r.creator_id = h.creator_id WHERE h.creator_id = $1`,
    [creatorId],
  );
}

export function rulesOf(db: Reader, creatorId: string): Promise<RulesRow | undefined> {
  return db.get<RulesRow>(
    `SELECT h.screening_version AS version, r.rules FROM creator_heads h
     LEFT JOIN screening_rules r ON r.creator_id = h.creator_id WHERE h.creator_id = $1`,
    [creatorId],
  );
}

/**
 * Saves rules that were read at `version`, and makes them the next version: a tip that was screened by the old ones is
 * screened anew. Returns false if others were saved meanwhile.
 */
async function saveRules(tx: Tx, creatorId: string, version: number, rules: string, now: number): Promise<boolean> {
  const changed = await tx.run(
    `UPDATE creator_heads SET screening_version = screening_version + 1
     WHERE creator_id = $1 AND screening_version = $2`,
    [creatorId, version],
  );
  if (changed === 0) return false;
  await tx.run(
    `INSERT INTO screening_rules (creator_id, rules, updated_at) VALUES ($1, $2, $3)
     ON CONFLICT (creator_id) DO UPDATE SET rules = excluded.rules, updated_at = excluded.updated_at`,
    [creatorId, rules, now],
  );
  return true;
}

/** Names of tips that were shown before new names are held. */
async function addKnownNames(tx: Tx, creatorId: string, names: readonly string[]): Promise<void> {
  // In one order: two such writes at once must not wait for each other.
  await tx.run(insertNames, [creatorId, JSON.stringify(names.map(storedName).sort())]);
}

const insertNames: Sql = {
  sqlite: `INSERT INTO known_names (creator_id, name) SELECT $1, value FROM json_each($2) WHERE TRUE
    ON CONFLICT (creator_id, name) DO NOTHING`,
  postgres: `INSERT INTO known_names (creator_id, name) SELECT $1, json_array_elements_text(CAST($2 AS JSON))
    ON CONFLICT (creator_id, name) DO NOTHING`,
};

const longestName = 200;

/**
 * A key of more letters is stored as its beginning and its hash: a character may stand for eighteen letters. It is equal
 * to no other, because a key has either letters or signs. Rows of before have the whole key.
 */
const storedName = (key: string): string =>
  key.length <= longestName ? key : `${key.slice(0, longestName / 4).toWellFormed()}#${hash('sha256', key)}`;

/** The name of a tip that was approved is known from then on. */
export async function addKnownName(tx: Tx, creatorId: string, name: string): Promise<void> {
  await tx.run('INSERT INTO known_names (creator_id, name) VALUES ($1, $2) ON CONFLICT (creator_id, name) DO NOTHING', [
    creatorId,
    storedName(name),
  ]);
}

/** New tips of this name are held again, where new names are. */
export async function removeKnownName(tx: Tx, creatorId: string, name: string): Promise<void> {
  await tx.run('DELETE FROM known_names WHERE creator_id = $1 AND name IN ($2, $3)', [
    creatorId,
    name,
    storedName(name),
  ]);
}

export async function isKnownName(db: Reader, creatorId: string, name: string): Promise<boolean> {
  const row = await db.get('SELECT name FROM known_names WHERE creator_id = $1 AND name IN ($2, $3)', [
    creatorId,
    name,
    storedName(name),
  ]);
  return row !== undefined;
}

export const writes = defineWrites(import.meta.url, { saveRules, addKnownNames });

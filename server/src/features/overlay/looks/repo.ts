import { defineWrites, type Reader, type Tx } from '../../../platform/db/database.ts';

export interface LooksRow {
  settings: string;
  looks: string | null;
  looks_draft: string | null;
  looks_previous: string | null;
  looks_version: number;
  voices: string | null;
}

export function looksOf(db: Reader, creatorId: string): Promise<LooksRow | undefined> {
  return db.get<LooksRow>(
    `SELECT settings, looks, looks_draft, looks_previous, looks_version, voices
     FROM overlays WHERE creator_id = $1`,
    [creatorId],
  );
}

/** A picture or sound. */
export interface FileRow {
  id: string;
  type: string;
  bytes: Uint8Array;
}

export function fileSizes(db: Reader, creatorId: string): Promise<{ id: string; size: number }[]> {
  return db.all('SELECT id, size FROM overlay_files WHERE creator_id = $1', [creatorId]);
}

/** Returns nothing if the creator is suspended. `length`: SQLite would read the bytes to find the column behind them. */
export function fileInfo(db: Reader, id: string): Promise<{ type: string; size: number } | undefined> {
  return db.get(
    `SELECT f.type, length(f.bytes) AS size FROM overlay_files f JOIN creators c ON c.id = f.creator_id
     WHERE f.id = $1 AND c.suspended_at IS NULL`,
    [id],
  );
}

/** By `all`: PostgreSQL batches `get`, and this statement is slow. */
export async function fileBytes(db: Reader, id: string): Promise<Uint8Array | undefined> {
  const [file] = await db.all<Pick<FileRow, 'bytes'>>('SELECT bytes FROM overlay_files WHERE id = $1', [id]);
  return file?.bytes;
}

export interface LooksChange {
  readonly looks: string | null;
  readonly draft: string | null;
  readonly previous: string | null;
  /** Files to be added. */
  readonly added: readonly FileRow[];
  /** Files that no look uses any more. */
  readonly removed: readonly string[];
}

/** Returns whether the looks were still of this version. The update locks the creator's overlay. */
async function changeLooks(
  tx: Tx,
  creatorId: string,
  version: number,
  { looks, draft, previous, added, removed }: LooksChange,
  now: number,
): Promise<boolean> {
  const changed = await tx.run(
    `UPDATE overlays SET looks = $3, looks_draft = $4, looks_previous = $5, looks_version = looks_version + 1
     WHERE creator_id = $1 AND looks_version = $2`,
    [creatorId, version, looks, draft, previous],
  );
  if (changed === 0) return false;
  for (const id of removed)
    await tx.run('DELETE FROM overlay_files WHERE creator_id = $1 AND id = $2', [creatorId, id]);
  for (const { id, type, bytes } of added)
    await tx.run(
      'INSERT INTO overlay_files (creator_id, id, type, bytes, size, created_at) VALUES ($1, $2, $3, $4, $5, $6)',
      [creatorId, id, type, bytes, bytes.length, now],
    );
  return true;
}

/** Changes nothing if the languages are the same. */
function setVoices(tx: Tx, creatorId: string, voices: string): Promise<number> {
  return tx.run('UPDATE overlays SET voices = $2 WHERE creator_id = $1 AND (voices IS NULL OR voices <> $2)', [
    creatorId,
    voices,
  ]);
}

export const writes = defineWrites(import.meta.url, { changeLooks, setVoices });

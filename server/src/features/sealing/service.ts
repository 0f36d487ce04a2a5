/**
 * Replaces SECRET_KEY while servers run.
 *
 * - The database names the key that seals. As long as it names none, the key was never replaced: SECRET_KEY_OLD seals if
 *   it is set, otherwise SECRET_KEY.
 * - A rotation begins when the database names SECRET_KEY. It is refused while a live node lacks one of the two keys, so
 *   whatever a node seals afterwards, all others can open.
 * - Then every sealed value is sealed anew, in small batches. A value names its key, so no progress is recorded: when a
 *   process is killed, the command or the job of any server continues with the values that are left.
 * - A value is replaced only if it is still the one that was read: what a user replaces meanwhile is kept.
 * - The rotation is complete when every live node seals with SECRET_KEY, its last write with the old key has ended, and
 *   a pass after that finds nothing to do.
 */
import { sealedColumns } from '../../platform/db/tables.ts';
import type { Platform } from '../../platform/platform.ts';
import { createNodes, type NodesParts } from './nodes.ts';
import * as repo from './repo.ts';

/** One write: short enough to delay nobody. */
const batchSize = 50;
/** A write takes less than five seconds, or it is refused. */
const settleMs = 6_000;

class SealingError extends Error {
  readonly code: 'key_refused' | 'no_old_key' | 'nodes_lack_keys';
  constructor(code: SealingError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

interface Rotation {
  readonly complete: boolean;
  /** How many sealed values there are. */
  readonly secrets: number;
  /** How many of them this pass has sealed anew. */
  readonly resealed: number;
  /** Values that changed meanwhile. The next pass reads them again. */
  readonly changed: number;
  /** Values that no configured key opens: table, column and id. */
  readonly unopened: readonly string[];
  /** Live nodes that do not seal with SECRET_KEY yet. */
  readonly behind: readonly string[];
}

type OnProgress = (done: number, total: number) => void;

export function createSealing(parts: NodesParts & Pick<Platform, 'origins'>) {
  const { db, origins, vault } = parts;
  const nodes = createNodes(parts);
  /** When this process first saw that every live node seals with SECRET_KEY. */
  let agreedSince: number | undefined;

  async function* sealedValues(): AsyncGenerator<{ field: repo.SealedField; rows: repo.SealedRow[] }> {
    for (const field of sealedColumns)
      for (let after = ''; ; ) {
        const rows = await repo.sealedAfter(db, field, after, batchSize);
        if (rows.length > 0) yield { field, rows };
        after = rows.at(-1)?.id ?? '';
        if (rows.length < batchSize) break;
      }
  }

  async function status() {
    const unopened: string[] = [];
    let [secrets, old] = [0, 0];
    for await (const { field, rows } of sealedValues())
      for (const row of rows) {
        secrets += 1;
        const keyId = vault.keyOf(bytesOf(row.sealed), contextOf(field, row));
        if (keyId === undefined) unopened.push(nameOf(field, row));
        else if (keyId !== vault.keyId) old += 1;
      }
    const { sealingKey, complete } = await nodes.refresh();
    return {
      begun: sealingKey === vault.keyId,
      complete: sealingKey === vault.keyId && complete,
      secrets,
      old,
      unopened,
      nodes: (await nodes.live()).map(({ name, secret_keys, sealing_key }) => ({
        name,
        has_both_keys: hasBothKeys(secret_keys),
        seals_with_new: sealing_key === vault.keyId && sealingKey === vault.keyId,
      })),
    };
  }

  const hasBothKeys = (secretKeys: string): boolean =>
    [vault.keyId, vault.oldKeyId].every((id) => id !== undefined && secretKeys.split(' ').includes(id));

  async function reseal(field: repo.SealedField, rows: readonly repo.SealedRow[], unopened: string[]) {
    const values: repo.Resealed[] = [];
    for (const row of rows) {
      const [sealed, context] = [bytesOf(row.sealed), contextOf(field, row)];
      if (vault.hasLabel(sealed, vault.keyId)) continue;
      if (vault.keyOf(sealed, context) === undefined) unopened.push(nameOf(field, row));
      else {
        const anew = vault.seal(vault.open(sealed, context), context);
        const stored = typeof row.sealed === 'string' ? Buffer.from(anew).toString('base64') : anew;
        values.push({ id: row.id, before: row.sealed, sealed: stored });
      }
    }
    const resealed = values.length === 0 ? 0 : await db.write(repo.writes.replaceSealed, field, values);
    return { resealed, changed: values.length - resealed };
  }

  /** One pass through all sealed values: seals anew those that have another key. The rotation must have begun. */
  async function advance(onProgress: OnProgress = () => {}): Promise<Rotation> {
    const live = await nodes.live();
    const behind = live.filter(({ sealing_key }) => sealing_key !== vault.keyId).map(({ name }) => name);
    agreedSince = behind.length > 0 ? undefined : (agreedSince ?? performance.now());
    const settled = agreedSince !== undefined && (live.length === 0 || performance.now() - agreedSince >= settleMs);
    const total = (await Promise.all(sealedColumns.map((field) => repo.countSealed(db, field)))).reduce(
      (a, b) => a + b,
    );
    const unopened: string[] = [];
    let [secrets, resealed, changed] = [0, 0, 0];
    for await (const { field, rows } of sealedValues()) {
      const done = await reseal(field, rows, unopened);
      resealed += done.resealed;
      changed += done.changed;
      secrets += rows.length;
      onProgress(secrets, Math.max(total, secrets));
    }
    const complete = settled && resealed + changed + unopened.length === 0;
    if (complete) await db.write(repo.writes.completeRotation, vault.keyId);
    return { complete, secrets, resealed, changed, unopened, behind };
  }

  /** Throws if the configured keys cannot be used with this database. Returns the key that seals. */
  async function check(): Promise<string | undefined> {
    const { sealingKey, complete } = await nodes.refresh();
    if (sealingKey === undefined) {
      await checkFirst();
      return undefined;
    }
    if (sealingKey !== vault.keyId && sealingKey !== vault.oldKeyId)
      throw new SealingError(
        'key_refused',
        'SECRET_KEY is not the key that this database is sealed with. Set it to that key; while it is being replaced, set SECRET_KEY to the new one and SECRET_KEY_OLD to the one before.',
      );
    if (complete) return sealingKey;
    const { unopened } = await status();
    if (unopened.length > 0)
      throw new SealingError(
        'key_refused',
        `SECRET_KEY_OLD ${vault.oldKeyId === undefined ? 'is needed' : 'has another key than is needed'}: ${unopened.length} secrets are still sealed with the key before. Set it to that key, and run: namjai secret-key rotate`,
      );
    return sealingKey;
  }

  /** For a key that was never replaced: SECRET_KEY_OLD, if it is set, must be the key that values are sealed with. */
  async function checkFirst(): Promise<void> {
    if (vault.oldKeyId === undefined) return;
    for await (const { field, rows } of sealedValues())
      for (const row of rows)
        if (vault.keyOf(bytesOf(row.sealed), contextOf(field, row)) === vault.oldKeyId) return;
        else
          throw new SealingError(
            'key_refused',
            'SECRET_KEY_OLD is not the key that this database is sealed with. Set it to that key, and SECRET_KEY to the new one; or unset it if nothing is to be replaced.',
          );
  }

  return {
    refresh: nodes.refresh,
    join: nodes.join,
    check,
    status,
    advance,
    /** Whether this process cannot seal, because SECRET_KEY was replaced by one that it does not have. */
    lacksKey: (): boolean => vault.sealingKey() === undefined,

    /** Makes SECRET_KEY the key that seals. Returns false if it is already. */
    async begin(): Promise<boolean> {
      if (vault.oldKeyId === undefined)
        throw new SealingError(
          'no_old_key',
          'SECRET_KEY_OLD is not set. Set SECRET_KEY to a new key and SECRET_KEY_OLD to the present one, on every node, and restart them.',
        );
      // Only the key that was checked is replaced: somebody else may begin a rotation meanwhile.
      const before = await check();
      if (before === vault.keyId) return false;
      const lacking = (await nodes.live()).filter(({ secret_keys }) => !hasBothKeys(secret_keys));
      if (lacking.length > 0)
        throw new SealingError(
          'nodes_lack_keys',
          `These servers run without both keys: ${lacking.map(({ name }) => name).join('; ')}. Restart them with SECRET_KEY and SECRET_KEY_OLD set as here. One that was killed is forgotten after a minute.`,
        );
      if (!(await db.write(repo.writes.beginRotation, origins.current(), vault.keyId, before ?? null))) {
        if ((await nodes.refresh()).sealingKey === vault.keyId) return false;
        throw new SealingError(
          'key_refused',
          'Another rotation has begun at the same moment. Ask who has begun it, and see: namjai secret-key rotate --check',
        );
      }
      await nodes.refresh();
      nodes.announce();
      return true;
    },

    /** The job of a server: continues a rotation that has begun. */
    async resume(): Promise<void> {
      const { sealingKey, complete } = await nodes.refresh();
      if (vault.oldKeyId !== undefined && sealingKey === vault.keyId && !complete) await advance();
    },
  };
}

const bytesOf = (sealed: Uint8Array | string): Uint8Array =>
  typeof sealed === 'string' ? Buffer.from(sealed, 'base64') : sealed;
const contextOf = ({ context }: repo.SealedField, { id }: repo.SealedRow): string => `${context}${id}`;
const nameOf = ({ table, column }: repo.SealedField, { id }: repo.SealedRow): string => `${table}.${column} of ${id}`;

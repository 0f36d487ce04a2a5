import assert from 'node:assert/strict';
import { sealedColumns } from '../src/platform/db/tables.ts';
import { createVault } from '../src/platform/vault.ts';
import type { Runtime } from '../src/runtime.ts';
import { makeApp, makeCreator } from './factories.ts';
import { execute } from './sql.ts';

export const firstKey = 'the first of the keys of these tests';
export const secondKey = 'the second of the keys of these tests';
/** The settings of a server before, while and after the first key is replaced by the second. */
export const before = { SECRET_KEY: firstKey };
export const both = { SECRET_KEY: secondKey, SECRET_KEY_OLD: firstKey };
export const after = { SECRET_KEY: secondKey };

/** Something in every column that is sealed, and `overlays` overlays. Returns what must still be readable. */
export async function makeSealed(runtime: Runtime, overlays: number) {
  const { db, vault, newId, clock, webhooks, overlays: service, demo, keys } = runtime;
  await keys.signing();
  await demo.ensure();
  const creators = await Promise.all(Array.from({ length: overlays }, () => makeCreator(runtime)));
  for (const { creatorId } of creators) await service.key(creatorId);
  const { clientId } = await makeApp(runtime);
  const { id } = await webhooks.add(clientId, { url: 'https://app.example/hook', types: null, description: null });
  const { secret } = await webhooks.rotateSecret(clientId, id);
  const [owner] = creators;
  assert.ok(owner);
  const { id: connectionId } = await webhooks.connections.add(
    owner.creatorId,
    'discord',
    { url: 'https://discord.com/api/webhooks/1/secret', secret: '', minAmountMinor: 0, label: null },
    newId('con'),
  );
  const nameId = newId('nam');
  await execute(db, 'INSERT INTO taken_names (id, sealed_key, mac, taken_until) VALUES ($1, $2, $3, $4)', [
    nameId,
    vault.seal('the key of a MAC', `taken-name:${nameId}`),
    'a MAC of a name',
    clock() + 86_400_000,
  ]);
  return { creators, clientId, webhookId: id, secret, owner: owner.creatorId, connectionId };
}

/** Which key opens each sealed value, by the place of the value. */
export async function keysOfAll({ db }: Pick<Runtime, 'db'>, ...keys: [string, string?]) {
  const vault = createVault(...keys);
  const found: Record<string, string | undefined> = {};
  for (const { table, column, id, context, only } of sealedColumns) {
    const rows = await db.all<{ id: string; sealed: Uint8Array | string }>(
      `SELECT ${id} AS id, ${column} AS sealed FROM ${table} WHERE ${column} IS NOT NULL`,
    );
    for (const row of rows) {
      if (only !== undefined && row.id !== only) continue;
      const sealed = typeof row.sealed === 'string' ? Buffer.from(row.sealed, 'base64') : row.sealed;
      found[`${table}.${column} ${row.id}`] = vault.keyOf(sealed, `${context}${row.id}`);
    }
  }
  return found;
}

/** Every sealed value opens with these keys. Returns how many there are. */
export async function assertAllOpen(runtime: Pick<Runtime, 'db'>, ...keys: [string, string?]): Promise<number> {
  const found = Object.entries(await keysOfAll(runtime, ...keys));
  assert.deepEqual(
    found.filter(([, key]) => key === undefined).map(([place]) => place),
    [],
  );
  return found.length;
}

export async function assertNoneOpens(runtime: Pick<Runtime, 'db'>, key: string): Promise<void> {
  const found = Object.entries(await keysOfAll(runtime, key));
  assert.deepEqual(
    found.filter(([, key]) => key !== undefined).map(([place]) => place),
    [],
  );
}
